// SPDX-License-Identifier: GPL-2.0-only
#include "network/host.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "network/sysctl.h"

#define STATE "/run/benchmon/network"
/*
 * One file for each interface whose forwarding we turned on, named by its index, which outlives
 * a renaming; in it, for the reader, its name. The directory itself says that some Bench has a
 * destination beyond the host.
 */
#define RECORDS STATE "/forwarding"
#define UPLINKS_MAX 32

struct records {
	bool forwarding; /* the directory is there */
	size_t count;
	int uplinks[UPLINKS_MAX];
};

static int make_directory(const char *path, struct bm_error *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return bm_fail_errno(err, errno, "making %s", path);
	return 0;
}

int bm_host_lock(int *ret_fd, struct bm_error *err)
{
	autoclose fd = -1;
	int r = make_directory("/run/benchmon", err);

	if (r == 0)
		r = make_directory(STATE, err);
	if (r < 0)
		return r;
	fd = open(STATE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return bm_fail_errno(err, errno, "locking %s", STATE);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static bool forwarding_is_on(const char *interface)
{
	int value;

	return bm_sysctl_read(AF_INET, interface, "forwarding", &value) == 0 && value;
}

static const char *record_path(int uplink, char buf[64])
{
	snprintf(buf, 64, "%s/%d", RECORDS, uplink);
	return buf;
}

static int forget(int uplink, struct bm_error *err)
{
	char path[64];

	if (unlink(record_path(uplink, path)) < 0 && errno != ENOENT)
		return bm_fail_errno(err, errno, "removing %s", path);
	return 0;
}

static int read_records(struct records *ret, struct bm_error *err)
{
	struct records records = {};
	autoclosedir DIR *dir = opendir(RECORDS);
	const struct dirent *entry;

	if (!dir && errno != ENOENT)
		return bm_fail_errno(err, errno, "reading %s", RECORDS);
	records.forwarding = dir;
	while (dir && (entry = readdir(dir))) {
		int index = atoi(entry->d_name);

		if (index <= 0)
			continue;
		if (records.count == UPLINKS_MAX)
			return bm_fail(err, E2BIG, NULL, NULL, "more than %d interfaces in %s",
				       UPLINKS_MAX, RECORDS);
		records.uplinks[records.count++] = index;
	}
	*ret = records;
	return 0;
}

int bm_host_protect(struct bm_error *err)
{
	struct records records;
	int r = read_records(&records, err);

	/*
	 * Somebody turned forwarding on for the whole host meanwhile (a container engine that was
	 * started): it is theirs now, neither to be turned off nor to be kept from them.
	 */
	if (r == 0 && records.count && forwarding_is_on("all")) {
		for (size_t i = 0; r == 0 && i < records.count; i++)
			r = forget(records.uplinks[i], err);
		records.count = 0;
	}
	return r < 0 ? r : bm_host_nft_set(records.uplinks, records.count, records.forwarding, err);
}

/* On record first, in the table second, turned on last: at no point is more open than known. */
static int turn_on(const char *uplink, int index, struct bm_error *err)
{
	char path[64];
	int r = bm_write_file(AT_FDCWD, record_path(index, path), O_CREAT | O_TRUNC, 0644, uplink);

	if (r < 0)
		return bm_fail_errno(err, -r, "writing %s", path);
	r = bm_host_protect(err);
	if (r == 0)
		r = bm_sysctl_write(AF_INET, uplink, "forwarding", 1, err);
	if (r < 0) {
		forget(index, NULL);
		bm_host_protect(NULL);
	}
	return r;
}

int bm_host_forward(const char *host_end, int uplink, struct bm_error *err)
{
	char name[IF_NAMESIZE];
	bool fresh;
	int r;

	if (!if_indextoname((unsigned int)uplink, name))
		return bm_fail_errno(err, errno, "interface %d", uplink);
	fresh = mkdir(RECORDS, 0755) == 0;
	if (!fresh && errno != EEXIST)
		return bm_fail_errno(err, errno, "making %s", RECORDS);
	r = bm_host_protect(err);
	if (r == 0)
		r = bm_sysctl_write(AF_INET, host_end, "forwarding", 1, err);
	if (r == 0 && !forwarding_is_on(name))
		r = turn_on(name, uplink, err);
	if (r < 0 && fresh) {
		rmdir(RECORDS);
		bm_sysctl_write(AF_INET, host_end, "forwarding", 0, NULL);
		bm_host_protect(NULL);
	}
	return r;
}

static int turn_off(int index, struct bm_error *err)
{
	char name[IF_NAMESIZE];
	int r = 0;

	/* Gone, or turned on for the whole host by somebody else: nothing of ours to undo. */
	if (if_indextoname((unsigned int)index, name) && !forwarding_is_on("all"))
		r = bm_sysctl_write(AF_INET, name, "forwarding", 0, err);
	return r < 0 ? r : forget(index, err);
}

int bm_host_release(struct bm_error *err)
{
	struct records records;
	int r = read_records(&records, err), step;

	if (r < 0)
		return r;
	/* The table last: it keeps others out for as long as forwarding is on. */
	for (size_t i = 0; i < records.count; i++) {
		step = turn_off(records.uplinks[i], err);
		r = r < 0 ? r : step;
	}
	if (r < 0)
		return r;
	r = bm_host_nft_destroy(err);
	if (r == 0 && rmdir(RECORDS) < 0 && errno != ENOENT)
		r = bm_fail_errno(err, errno, "removing %s", RECORDS);
	return r;
}
