// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/limits.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include "cli/source.h"
#include "cli/text.h"

int cli_modes(struct cli *cli, struct json_object *request, struct bm_error *err)
{
	const char *mode = cli->args.value[OPT_EXEC];

	if (cli_has(&cli->args, OPT_ALLOW_USERNS))
		bm_json_add_bool(request, "userns", true);
	if (cli_has(&cli->args, OPT_FIRST_USES))
		bm_json_add_bool(request, "first_uses", true);
	if (!mode)
		return 0;
	if (strcmp(mode, "own") && strcmp(mode, "image"))
		return cli_usage(cli, err, "--exec is own or image");
	bm_json_add_string(request, "exec", mode);
	return 0;
}

static int rootfs_open(struct cli *cli, int *ret_fd, struct bm_error *err)
{
	const char *path = cli->args.value[OPT_ROOTFS] ?: getenv("BENCHMON_ROOTFS");
	autoclose fd = -1;

	if (!path || !*path)
		return bm_fail(err, EINVAL, NULL,
			       "give --image or --rootfs DIR, or set BENCHMON_ROOTFS, for example "
			       "to what debootstrap made",
			       "no root filesystem to make a Bench of");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return bm_fail_errno(err, errno, "--rootfs %s", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int create(int socket, struct json_object *request, const char *name, int rootfs,
		  struct json_object **ret_reply, struct bm_error *err)
{
	int r;

	cli_progress("creating %s ...", name ?: "a Bench");
	r = cli_call(socket, "create", request, &rootfs, 1, ret_reply, err);
	cli_progress_done();
	return r;
}

int cli_create(struct cli *cli, int socket, const char *name, struct json_object **ret_reply,
	       struct bm_error *err)
{
	const char *image = cli->args.value[OPT_IMAGE];
	autojson *request = json_object_new_object();
	autoclose rootfs = -1;
	int r = cli_limits(cli, request, err);

	if (name)
		bm_json_add_string(request, "bench", name);
	if (r == 0)
		r = cli_modes(cli, request, err);
	if (r == 0 && image && cli->args.value[OPT_ROOTFS])
		r = cli_usage(cli, err, "--image and --rootfs are two root file systems");
	if (r == 0)
		r = image ? cli_image_mount(image, &rootfs, err) : rootfs_open(cli, &rootfs, err);
	if (r < 0)
		return r;
	r = create(socket, request, name, rootfs, ret_reply, err);
	/* Its layers are held by then, each by itself. */
	bm_close(TAKE_FD(rootfs));
	if (image)
		cli_image_unmount(image);
	return r;
}

int cli_create_asked(struct cli *cli, int socket, const char *id, bool image, const char *target,
		     FILE *out, struct json_object **ret_reply, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autoclose rootfs = -1;
	int r = cli_limits(cli, request, err);

	bm_json_add_string(request, "request", id);
	if (r == 0)
		r = cli_modes(cli, request, err);
	if (r == 0)
		r = image ? cli_image_mount(target, &rootfs, err)
			  : cli_source_open(target, false, &rootfs, err);
	if (r < 0)
		return r;
	r = cli_grant_ask(cli, socket, "create", request, &rootfs, out, ret_reply, err);
	bm_close(TAKE_FD(rootfs));
	if (image)
		cli_image_unmount(target);
	return r;
}

int cmd_create(struct cli *cli, struct bm_error *err)
{
	const char *name = cli->args.operand_count ? cli->args.operands[0] : NULL;
	autojson *reply = NULL;
	autoclose socket = -1;
	struct json_object *bench;
	char shown[CLI_SHORT];
	int r = name ? cli_bench_name(cli, name, err) : 0;

	if (r == 0)
		r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_create(cli, socket, name, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "bench", &bench, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, bench);
	else
		printf("%s\n", cli_show_key(bench, "name", shown, sizeof(shown)));
	return 0;
}
