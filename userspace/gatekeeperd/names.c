// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"
#include "bench/relocate.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/lifecycle.h"

/* A file of ours that is mounted into the Bench, ro. */
struct provided {
	const char *directory, *path;
	bool there_before; /* in a container that somebody else has made */
};

static const struct provided hosts_file = { "/run/benchmon/hosts", "/etc/hosts", true };
/* For shells that run already: `. /etc/benchmon.env`. */
static const struct provided env_file = { "/run/benchmon/env", "/etc/benchmon.env", false };

static const char *path_of(const struct provided *what, const struct bench *bench, char path[64])
{
	snprintf(path, 64, "%s/%s", what->directory, bench->name);
	return path;
}

struct line {
	uint8_t address[16];
	size_t place;
};

static int compare_addresses(const void *a, const void *b)
{
	const struct line *one = a, *other = b;
	int r = memcmp(one->address, other->address, sizeof(one->address));

	return r ?: (one->place > other->place) - (one->place < other->place);
}

static int compare_places(const void *a, const void *b)
{
	const struct line *one = a, *other = b;

	return (one->place > other->place) - (one->place < other->place);
}

static void write_line(FILE *out, const uint8_t address[16], const char *name)
{
	struct bm_destination d = {};
	char text[INET6_ADDRSTRLEN];
	bool v4;

	memcpy(d.address, address, sizeof(d.address));
	v4 = bm_destination_is_v4(&d);
	inet_ntop(v4 ? AF_INET : AF_INET6, address + (v4 ? 12 : 0), text, sizeof(text));
	fprintf(out, "%s %s\n", text, name);
}

/* A line for each address, whatever its ports, in the order of the seal: the first is tried first.
 */
static int write_host(FILE *out, const struct grant_host *host)
{
	autofree struct line *lines = calloc(host->count + 1, sizeof(*lines));
	size_t count = 0;

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < host->count; i++) {
		memcpy(lines[i].address, host->list[i].to.address, sizeof(lines[i].address));
		lines[i].place = i;
	}
	qsort(lines, host->count, sizeof(*lines), compare_addresses);
	for (size_t i = 0; i < host->count; i++)
		if (!count ||
		    memcmp(lines[count - 1].address, lines[i].address, sizeof(lines[i].address)))
			lines[count++] = lines[i];
	qsort(lines, count, sizeof(*lines), compare_places);
	for (size_t i = 0; i < count; i++)
		write_line(out, lines[i].address, host->name);
	return 0;
}

static int write_grant(FILE *out, const struct grant *g, size_t *names)
{
	const struct grant_hosts *hosts = g->next_hosts.count ? &g->next_hosts : &g->hosts;
	char name[BROKER_HOST_LEN];
	int r = 0;

	if (g->kind == GRANT_BROKER) {
		write_line(out, hosts->list[0].list[0].to.address, broker_host(g->broker, name));
		(*names)++;
	}
	for (size_t i = 0; r == 0 && g->kind == GRANT_NET && i < hosts->count; i++) {
		const struct grant_host *host = &hosts->list[i];

		if (!*host->name || host->revoked)
			continue;
		r = write_host(out, host);
		*names += host->count;
	}
	return r;
}

static int write_all(const struct bench *bench, const struct grant *also, char **ret_text,
		     size_t *ret_names)
{
	size_t size = 0, names = 0;
	FILE *out = open_memstream(ret_text, &size);
	int r = 0;

	if (!out)
		return -ENOMEM;
	fprintf(out, "127.0.0.1 localhost\n::1 localhost\n");
	for (const struct grant *g = bench->grants; r == 0 && g; g = g->next)
		r = write_grant(out, g, &names);
	if (r == 0 && also)
		r = write_grant(out, also, &names);
	*ret_names = names;
	return fclose(out) ? -ENOMEM : r;
}

/* The same file is written to, since it is what is mounted. */
static int store(const struct provided *what, const struct bench *bench, const char *text,
		 int *ret_fd, struct bm_error *err)
{
	char path[64];
	autoclose fd = -1;
	int r;

	if (mkdir(what->directory, 0755) < 0 && errno != EEXIST)
		return bm_fail_errno(err, errno, "making %s", what->directory);
	fd = open(path_of(what, bench, path), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	r = fd < 0 ? -errno : bm_write_all(fd, text, strlen(text));
	if (r == 0 && ftruncate(fd, (off_t)strlen(text)) < 0)
		r = -errno;
	if (r < 0)
		return bm_fail_errno(err, -r, "writing %s", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int place(const struct provided *what, const struct bench *bench, int tree,
		 struct bm_error *err)
{
	bool created = bench->origin == ORIGIN_CREATED;
	struct bm_error there = {};
	int r;

	if (!created && what->there_before)
		return bm_mount_place_back(&bench->target, tree, false, what->path, err);
	r = bm_mount_place(&bench->target, tree, false, what->path, created, &there);
	if (r == -EEXIST)
		return bm_mount_place_back(&bench->target, tree, false, what->path, err);
	if (r < 0 && err)
		*err = there;
	return r;
}

static int mount_file(struct daemon *d, const struct provided *what, struct bench *bench, int fd,
		      struct bm_error *err)
{
	struct bm_grant entry = { .rights = BM_R };
	struct json_object *fields;
	autoclose tree = -1;
	uint64_t object;
	int r = bm_mount_clone(fd, getpid(), &tree, err);

	if (r == 0)
		r = bm_mount_restrict(tree, false, -1, err);
	if (r == 0)
		r = bm_object_mark(d->kernel, fd, &object, err);
	if (r < 0)
		return r;
	fields = json_object_new_object();
	bm_json_add_string(fields, "path", what->path);
	bm_json_add_int(fields, "object", (int64_t)object);
	r = bench_record(d, bench, "names", fields, err);
	STEP(NAMES_SAID);
	if (r == 0)
		r = place(what, bench, tree, err);
	STEP(NAMES_PLACED);
	return r < 0 ? r : bm_grant_put(d->kernel, bench->id, object, &entry, err);
}

static void forget(const struct provided *what, struct bench *bench, bool *there)
{
	char path[64];

	if (unlink(path_of(what, bench, path)) == 0 || errno == ENOENT)
		*there = false;
}

static int take_away(struct daemon *d, const struct provided *what, struct bench *bench,
		     bool *there, struct bm_error *err)
{
	char path[64];
	autoclose fd = open(path_of(what, bench, path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	uint64_t object;
	int r = 0;

	if (fd >= 0 && bm_object_get(d->kernel, fd, &object) == 0)
		r = bm_grant_drop(d->kernel, bench->id, object);
	if (r < 0)
		return bm_fail_errno(err, -r, "grants");
	STEP(NAMES_DROPPED);
	if (fd >= 0 && fstat(fd, &st) == 0 && bench_alive(bench))
		r = bm_mount_take(&bench->target, NULL, st.st_dev, st.st_ino, err);
	if (r == 0)
		forget(what, bench, there);
	return r;
}

/* With nothing to say it goes away. */
static int provide(struct daemon *d, const struct provided *what, struct bench *bench,
		   const char *text, bool *there, struct bm_error *err)
{
	autoclose fd = -1;
	int r;

	if (!text)
		return *there ? take_away(d, what, bench, there, err) : 0;
	r = store(what, bench, text, &fd, err);
	STEP(NAMES_STORED);
	if (r == 0 && !*there)
		r = mount_file(d, what, bench, fd, err);
	if (r == 0)
		*there = true;
	else if (!*there)
		take_away(d, what, bench, there, NULL);
	return r;
}

/* --- the environment of brokers ------------------------------------------------------------------
 */

/* A line that any shell reads as it is meant. */
static void write_variable(FILE *out, const struct bm_broker_variable *v)
{
	fprintf(out, "export %s='", v->name);
	for (const char *p = v->value; *p; p++)
		fprintf(out, *p == '\'' ? "'\\''" : "%c", *p);
	fprintf(out, "'\n");
}

static size_t write_variables(FILE *out, const struct grant *g)
{
	if (!g || g->kind != GRANT_BROKER)
		return 0;
	for (size_t i = 0; i < g->broker->variable_count; i++)
		write_variable(out, &g->broker->variables[i]);
	return g->broker->variable_count;
}

/* A Bench that has no place for the file does without. */
static void tell_environment(struct daemon *d, struct bench *bench, const struct grant *also)
{
	autofree char *text = NULL;
	struct bm_error err = {};
	size_t size = 0, count = 0;
	FILE *out = open_memstream(&text, &size);

	for (const struct grant *g = bench->grants; out && g; g = g->next)
		count += write_variables(out, g);
	if (out)
		count += write_variables(out, also);
	if (!out || fclose(out))
		return;
	if (provide(d, &env_file, bench, count ? text : NULL, &bench->told, &err) < 0)
		daemon_log_error("the environment of a Bench", &err);
}

int names_update(struct daemon *d, struct bench *bench, const struct grant *also,
		 struct bm_error *err)
{
	autofree char *text = NULL;
	size_t names = 0;
	int r = write_all(bench, also, &text, &names);

	if (r < 0)
		return bm_fail_errno(err, -r, "names of Bench %s", bench->name);
	r = provide(d, &hosts_file, bench, names ? text : NULL, &bench->named, err);
	if (r == 0)
		tell_environment(d, bench, also);
	return r;
}

void names_find(struct bench *bench)
{
	char path[64];

	bench->named = access(path_of(&hosts_file, bench, path), F_OK) == 0;
	bench->told = access(path_of(&env_file, bench, path), F_OK) == 0;
}

void names_forget(struct bench *bench)
{
	forget(&hosts_file, bench, &bench->named);
	forget(&env_file, bench, &bench->told);
}
