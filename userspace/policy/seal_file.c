// SPDX-License-Identifier: GPL-2.0-only
/* The file of a seal: written whole or not at all, and believed only as it was written. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "policy/one.h"
#include "policy/seal.h"

#define RULE "seal"
#define SUFFIX ".json"
#define SIGNATURE_HEX (2 * crypto_sign_BYTES)
/* A clock may be corrected; one that was set back would make an old seal young. */
#define CLOCK_SLACK 300

struct file {
	const char *name; /* of the profile */
	char path[BM_PROFILE_NAME_LEN + 16];
	struct bm_error *err;
};

/* HOST:PORT/udp has a byte that no file name has; a comma is in none of theirs. */
static struct file file_of(const char *name, struct bm_error *err)
{
	struct file f = { .name = name, .err = err };
	char *slash;

	snprintf(f.path, sizeof(f.path), "%.*s" SUFFIX, BM_PROFILE_NAME_LEN - 1, name);
	slash = strchr(f.path, '/');
	if (slash)
		*slash = ',';
	return f;
}

int bm_seal_file_name(const char *file, char ret_name[BM_PROFILE_NAME_LEN])
{
	size_t len = strlen(file), suffix = strlen(SUFFIX);
	char name[BM_PROFILE_NAME_LEN], *comma;

	if (len <= suffix || len - suffix >= sizeof(name) || strcmp(file + len - suffix, SUFFIX))
		return -EINVAL;
	snprintf(name, sizeof(name), "%.*s", (int)(len - suffix), file);
	comma = strchr(name, ',');
	if (comma)
		*comma = '/';
	if (bm_seal_name_check(name, NULL) < 0)
		return -EINVAL;
	memcpy(ret_name, name, sizeof(name));
	return 0;
}

/* With "benchmon profile VERB NAME" as the remedy. */
__attribute__((format(printf, 4, 5))) static int refuse(const struct file *f, int code,
							const char *verb, const char *fmt, ...)
{
	char message[256], remedy[BM_PROFILE_NAME_LEN + 32];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	snprintf(remedy, sizeof(remedy), "`benchmon profile %s %s`", verb, f->name);
	return bm_fail(f->err, code, RULE, remedy, "profile %s %s", f->name, message);
}

/* --- writing --------------------------------------------------------------------------------- */

/* The line that is signed, its newline included; the caller frees it. */
static char *line_of(const struct bm_sealed *sealed, size_t *ret_len)
{
	autojson *json = bm_sealed_to_json(sealed);
	const char *text = json_object_to_json_string_ext(
		json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	char *line = NULL;
	int len = text ? asprintf(&line, "%s\n", text) : -1;

	*ret_len = len < 0 ? 0 : (size_t)len;
	return len < 0 ? NULL : line;
}

int bm_seal_digest(const struct bm_sealed *sealed, char ret[BM_SEAL_DIGEST_LEN])
{
	unsigned char hash[32];
	size_t len;
	autofree char *line = line_of(sealed, &len);

	if (!line)
		return -ENOMEM;
	crypto_generichash(hash, sizeof(hash), (unsigned char *)line, len, NULL, 0);
	sodium_bin2hex(ret, BM_SEAL_DIGEST_LEN, hash, sizeof(hash));
	return 0;
}

static int sign(const struct bm_key *key, const struct bm_sealed *sealed, char **ret_text,
		size_t *ret_len, struct bm_error *err)
{
	unsigned char signature[crypto_sign_BYTES];
	char hex[SIGNATURE_HEX + 1], *text;
	size_t len;
	autofree char *line = line_of(sealed, &len);
	int whole;

	if (!line)
		return bm_fail_errno(err, ENOMEM, "seal");
	if (len > BM_SEALED_MAX - 512)
		return bm_fail(err, EFBIG, RULE, "split the profile",
			       "the seal would be too large");
	crypto_sign_detached(signature, NULL, (unsigned char *)line, len, key->secret);
	sodium_bin2hex(hex, sizeof(hex), signature, sizeof(signature));
	whole = asprintf(&text, "%s{\"signature\":\"%s\",\"key\":\"%s\"}\n", line, hex, key->id);
	if (whole < 0)
		return bm_fail_errno(err, ENOMEM, "seal");
	*ret_text = text;
	*ret_len = (size_t)whole;
	return 0;
}

static int open_dir(int state_dir, bool make, int *ret, struct bm_error *err)
{
	int fd;

	if (make && mkdirat(state_dir, BM_SEAL_DIR, 0700) < 0 && errno != EEXIST)
		return bm_fail_errno(err, errno, "make " BM_SEAL_DIR);
	fd = openat(state_dir, BM_SEAL_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

static int put_file(int dir, const char *name, const char *text, size_t len)
{
	char temporary[BM_PROFILE_NAME_LEN + 32];
	autoclose fd = -1;
	int r;

	snprintf(temporary, sizeof(temporary), "%s.new", name);
	if (unlinkat(dir, temporary, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = bm_write_all(fd, text, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dir, temporary, dir, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, temporary, 0);
	return r == 0 && fsync(dir) < 0 ? -errno : r;
}

int bm_seal_write(int state_dir, const struct bm_key *key, const struct bm_sealed *sealed,
		  struct bm_error *err)
{
	struct file f = file_of(sealed->name, err);
	autofree char *text = NULL;
	autoclose dir = -1;
	size_t len = 0;
	int r = sign(key, sealed, &text, &len, err);

	if (r == 0)
		r = open_dir(state_dir, true, &dir, err);
	if (r == 0)
		r = put_file(dir, f.path, text, len);
	return r < 0 ? bm_fail_errno(err, -r, "write " BM_SEAL_DIR "/%s", f.path) : 0;
}

int bm_seal_remove(int state_dir, const char *name, struct bm_error *err)
{
	struct file f = file_of(name, err);
	autoclose dir = -1;
	int r = bm_seal_name_check(name, err);

	if (r < 0)
		return r;
	r = open_dir(state_dir, false, &dir, err);
	if (r == 0 && unlinkat(dir, f.path, 0) < 0)
		r = -errno;
	if (r == 0 && fsync(dir) < 0)
		r = -errno;
	if (r == -ENOENT)
		return refuse(&f, ENOENT, "show", "is not sealed");
	return r < 0 ? bm_fail_errno(err, -r, "remove " BM_SEAL_DIR "/%s", f.path) : 0;
}

/* --- reading --------------------------------------------------------------------------------- */

static int check_owner(const struct file *f, int fd, uid_t owner, const char *what)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bm_fail_errno(f->err, errno, "%s", what);
	if (st.st_uid && st.st_uid != owner)
		return refuse(f, EPERM, "seal", "is refused: %s belongs to uid %u, not to root",
			      what, st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return refuse(f, EPERM, "seal",
			      "is refused: %s can be written by others (mode %04o)", what,
			      st.st_mode & 07777);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return refuse(f, EPERM, "seal", "is refused: %s is no regular file", what);
	return 0;
}

static int open_file(const struct file *f, int state_dir, uid_t owner, int *ret)
{
	autoclose dir = -1, fd = -1;
	int r = open_dir(state_dir, false, &dir, f->err);

	if (r == 0)
		r = check_owner(f, dir, owner, "the directory of seals");
	if (r == 0) {
		fd = openat(dir, f->path,
			    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		r = fd < 0 ? -errno : check_owner(f, fd, owner, f->path);
	}
	if (r == -ENOENT)
		return refuse(f, ENOENT, "seal", "is not sealed");
	if (r == -ELOOP || r == -ENOTDIR)
		return refuse(f, EPERM, "seal",
			      "is refused: its seal, or their directory, is a symbolic link");
	if (r < 0)
		return bm_fail_errno(f->err, -r, "%s", f->path);
	*ret = TAKE_FD(fd);
	return 0;
}

/* The second line; the first one's length includes its newline. */
static int check_signature(const struct file *f, const struct bm_key *key, const char *text,
			   size_t len, size_t *ret_len)
{
	unsigned char signature[crypto_sign_BYTES];
	const char *newline = memchr(text, '\n', len), *hex, *id;
	size_t first = newline ? (size_t)(newline - text) + 1 : 0, got = 0;
	autojson *json = NULL;

	if (!first || bm_json_parse(text + first, len - first, f->path, &json, NULL) < 0)
		return refuse(f, EBADMSG, "seal", "is refused: its seal has no signature");
	hex = bm_json_string(json, "signature");
	id = bm_json_string(json, "key");
	if (!hex || !id || strlen(hex) != SIGNATURE_HEX ||
	    sodium_hex2bin(signature, sizeof(signature), hex, SIGNATURE_HEX, NULL, &got, NULL) ||
	    got != sizeof(signature))
		return refuse(f, EBADMSG, "seal", "is refused: its seal has no signature");
	if (strcmp(id, key->id))
		return refuse(f, EKEYREJECTED, "seal",
			      "is refused: it was sealed with a key that is not this machine's");
	if (crypto_sign_verify_detached(signature, (const unsigned char *)text, first, key->public))
		return refuse(f, EBADMSG, "seal",
			      "is refused: it was altered after it had been sealed");
	*ret_len = first;
	return 0;
}

static int check_age(const struct file *f, const struct bm_sealed *s, int64_t now)
{
	char time[BM_TIME_LEN];

	if (!now)
		return 0;
	if (s->sealed > now + CLOCK_SLACK)
		return refuse(f, EKEYEXPIRED, "refresh",
			      "was sealed at %s, which is yet to come: the clock was set back",
			      bm_time_format((uint64_t)s->sealed * 1000000000, time));
	if (s->expires <= now)
		return refuse(f, EKEYEXPIRED, "refresh", "expired at %s",
			      bm_time_format((uint64_t)s->expires * 1000000000, time));
	return 0;
}

int bm_seal_read(int state_dir, uid_t owner, const struct bm_key *key, const char *name,
		 int64_t now, struct bm_sealed *ret, struct bm_error *err)
{
	struct file f = file_of(name, err);
	autosealed sealed = {};
	autofree char *text = NULL;
	autojson *json = NULL;
	autoclose fd = -1;
	size_t len = 0;
	int r = bm_seal_name_check(name, err);

	if (r == 0)
		r = open_file(&f, state_dir, owner, &fd);
	if (r < 0)
		return r;
	r = bm_read_fd(fd, BM_SEALED_MAX, &text, &len);
	if (r == -EFBIG)
		return refuse(&f, EBADMSG, "seal",
			      "is refused: its seal is larger than any of ours");
	if (r < 0)
		return bm_fail_errno(err, -r, "%s", f.path);
	/* Nothing of it is looked at before it is known to be ours. */
	r = check_signature(&f, key, text, len, &len);
	if (r == 0)
		r = bm_json_parse(text, len, f.path, &json, err);
	if (r == 0)
		r = bm_sealed_from_json(json, &sealed, err);
	if (r == 0 && strcmp(sealed.name, name))
		r = refuse(&f, EBADMSG, "seal", "is refused: what is sealed there is profile %s",
			   sealed.name);
	if (r == 0)
		r = check_age(&f, &sealed, now);
	if (r < 0)
		return r;
	*ret = sealed;
	sealed = (struct bm_sealed){};
	return 0;
}

int bm_seal_fits(const struct bm_sealed *sealed, const struct bm_profile *profile,
		 struct bm_error *err)
{
	struct file f = file_of(sealed->name, err);

	if (!memcmp(sealed->definition, profile->digest, sizeof(sealed->definition)))
		return 0;
	return refuse(&f, ESTALE, "seal",
		      "is refused: its definition has changed since it was sealed");
}
