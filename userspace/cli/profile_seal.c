// SPDX-License-Identifier: GPL-2.0-only
/* profile seal, profile refresh: resolve, show, confirm; profile unseal: forget. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cli/confirm.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/text.h"

static struct json_object *items_of(struct json_object *reply)
{
	return bm_json_get(reply, "items", json_type_array);
}

int cli_profile_items(int socket, struct json_object *confirm, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *token;
	int r;

	if (!json_object_object_get_ex(confirm, "token", &token))
		return bm_fail(err, EPROTO, "protocol", NULL, "the reply has no \"token\"");
	bm_json_add(request, "token", json_object_get(token));
	r = cli_call_paged(socket, "profile-pending", request, items_of, &reply, err);
	if (r < 0)
		return r;
	if (!items_of(reply))
		return bm_fail(err, EPROTO, "protocol", NULL, "the reply has no \"items\"");
	bm_json_add(confirm, "items", json_object_get(items_of(reply)));
	return 0;
}

static int confirm_it(struct cli *cli, int socket, struct json_object *confirm,
		      struct json_object **ret_reply, struct bm_error *err)
{
	autojson *answer = json_object_new_object();
	struct json_object *token = NULL;
	const char *how = NULL;
	int r = cli_profile_items(socket, confirm, err);

	if (r == 0)
		r = cli_confirm(confirm, cli_has(&cli->args, OPT_YES),
				cli->format == FORMAT_JSON ? NULL : stdout, &how, err);
	if (r == -ECANCELED)
		cli->failure = EXIT_REFUSED;
	if (r < 0)
		return r;
	json_object_object_get_ex(confirm, "token", &token);
	bm_json_add(answer, "token", json_object_get(token));
	bm_json_add_string(answer, "how", how);
	cli_progress("sealing ...");
	r = cli_call(socket, "confirm", answer, NULL, 0, ret_reply, err);
	cli_progress_done();
	return r;
}

/* The whole of it in JSON: what was confirmed, and what that came to. */
static int print_sealed(struct cli *cli, struct json_object *confirm, struct json_object *reply,
			struct bm_error *err)
{
	char name[CLI_SHOWN], time[CLI_SHORT];
	struct json_object *profile;
	int r = cli_reply_object(reply, "profile", &profile, err);

	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON) {
		bm_json_add(profile, "items",
			    json_object_get(bm_json_get(confirm, "items", json_type_array)));
		bm_json_add(profile, "refreshed",
			    json_object_get(bm_json_get(reply, "refreshed", json_type_array)));
		cli_print_json(stdout, profile);
	} else {
		printf("%s sealed until %.19sZ\n",
		       cli_show_key(profile, "name", name, sizeof(name)),
		       cli_show_key(profile, "expires", time, sizeof(time)));
		cli_profile_refreshed_print(stdout, reply);
	}
	return 0;
}

/* root: of an image; -1: none is needed. */
static int ask(struct cli *cli, const char *op, struct json_object *request, int socket, int root,
	       struct json_object **ret_confirm, struct json_object **ret_seen,
	       struct bm_error *err)
{
	int r;

	cli_progress("resolving the hosts of %s ...", cli->args.operands[1]);
	r = cli_call(socket, op, request, &root, root >= 0, ret_seen, err);
	cli_progress_done();
	return r < 0 ? r : cli_reply_object(*ret_seen, "confirm", ret_confirm, err);
}

static int open_rootfs(const char *path, int *ret, struct bm_error *err)
{
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? bm_fail_errno(err, errno, "--rootfs %s", path) : 0;
}

/* Nothing of the image is needed once its configuration has been read. */
static int ask_with_image(struct cli *cli, struct json_object *request, int socket,
			  struct json_object **ret_confirm, struct json_object **ret_seen,
			  struct bm_error *err)
{
	const char *image = cli->args.value[OPT_IMAGE];
	autoclose root = -1;
	/* Interrupted, it still unmounts. */
	int r = cli_signals_catch(err);

	if (r < 0)
		return r;
	cli_progress("mounting %s ...", image);
	r = cli_image_mount(image, &root, err);
	cli_progress_done();
	if (r < 0)
		return r;
	r = ask(cli, "profile-seal", request, socket, root, ret_confirm, ret_seen, err);
	bm_close(TAKE_FD(root));
	cli_image_unmount(image);
	return r;
}

int cli_profile_seal(struct cli *cli, const char *name, struct bm_error *err)
{
	const char *image = cli->args.value[OPT_IMAGE], *rootfs = cli->args.value[OPT_ROOTFS];
	autojson *request = json_object_new_object();
	autojson *seen = NULL, *reply = NULL;
	autoclose socket = -1, root = -1;
	struct json_object *confirm = NULL;
	char label[2 * CLI_SHOWN];
	int r = 0;

	bm_json_add_string(request, "name", name);
	if (cli_has(&cli->args, OPT_PRIVATE))
		bm_json_add_bool(request, "private", true);
	if (image || rootfs) {
		snprintf(label, sizeof(label), "%s %.4000s", image ? "image" : "rootfs",
			 image ?: rootfs);
		bm_json_add_string(request, "image", label);
	}
	if (rootfs)
		r = open_rootfs(rootfs, &root, err);
	if (r == 0)
		r = cli_connect(&socket, err);
	if (r == 0)
		r = image ? ask_with_image(cli, request, socket, &confirm, &seen, err)
			  : ask(cli, "profile-seal", request, socket, root, &confirm, &seen, err);
	if (r == 0)
		r = confirm_it(cli, socket, confirm, &reply, err);
	return r < 0 ? r : print_sealed(cli, confirm, reply, err);
}

int cli_profile_refresh(struct cli *cli, const char *name, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *seen = NULL, *reply = NULL;
	struct json_object *confirm = NULL;
	autoclose socket = -1;
	int r;

	bm_json_add_string(request, "name", name);
	r = cli_connect(&socket, err);
	if (r == 0)
		r = ask(cli, "profile-refresh", request, socket, -1, &confirm, &seen, err);
	if (r == 0)
		r = confirm_it(cli, socket, confirm, &reply, err);
	return r < 0 ? r : print_sealed(cli, confirm, reply, err);
}

int cli_profile_unseal(struct cli *cli, const char *name, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	autoclose socket = -1;
	char shown[CLI_SHOWN];
	int r;

	bm_json_add_string(request, "name", name);
	r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_call(socket, "profile-unseal", request, NULL, 0, &reply, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON) {
		json_object_object_del(reply, "ok");
		cli_print_json(stdout, reply);
	} else {
		printf("%s unsealed\n", cli_show_key(reply, "unsealed", shown, sizeof(shown)));
	}
	return 0;
}
