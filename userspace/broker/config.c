// SPDX-License-Identifier: GPL-2.0-only
/* The first message: everything that the broker is told, while it may still read files. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/broker.h"

#define RULE "broker-start"
#define MESSAGE_MAX 65536
#define START_MS 30000

static int receive(char **ret, size_t *ret_len, int *ret_fd, struct bm_error *err)
{
	autofree char *text = malloc(MESSAGE_MAX + 1);
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec part = { text, MESSAGE_MAX };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct pollfd polled = { CONTROL, POLLIN, 0 };
	struct cmsghdr *first;
	ssize_t len;

	if (!text)
		return bm_fail_errno(err, ENOMEM, "the first message");
	/* Its end may be non-blocking, and the message not there yet. */
	if (poll(&polled, 1, START_MS) == 0)
		return bm_fail_errno(err, ETIMEDOUT, "the first message");
	len = recvmsg(CONTROL, &message, MSG_CMSG_CLOEXEC);
	if (len <= 0)
		return bm_fail_errno(err, len < 0 ? errno : ECONNRESET, "the first message");
	first = CMSG_FIRSTHDR(&message);
	if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(first), sizeof(int));
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return bm_fail(err, EMSGSIZE, RULE, NULL, "the first message is too long");
	if (*ret_fd < 0)
		return bm_fail(err, EBADMSG, RULE, NULL, "the first message has no credential");
	text[len] = '\0';
	*ret_len = (size_t)len;
	*ret = TAKE_PTR(text);
	return 0;
}

static int take_address(struct broker *broker, const char *text, struct bm_error *err)
{
	struct in6_addr *address = &broker->addresses[broker->address_count];
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		*address = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
		memcpy(&address->s6_addr[12], &v4, sizeof(v4));
	} else if (inet_pton(AF_INET6, text, address) != 1) {
		return bm_fail(err, EBADMSG, RULE, NULL, "\"%.64s\" is no address", text);
	}
	broker->address_count++;
	return 0;
}

/* Strings of an array that must be there or not; how many may be there. */
static int take_strings(struct broker *broker, struct json_object *json, const char *key,
			size_t max, int (*take)(struct broker *, const char *, struct bm_error *),
			struct bm_error *err)
{
	struct json_object *list = bm_json_get(json, key, json_type_array);
	int r = 0;

	if (!list || !json_object_array_length(list) || json_object_array_length(list) > max)
		return bm_fail(err, EBADMSG, RULE, NULL, "%s: not 1 to %zu strings", key, max);
	for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++) {
		struct json_object *value = json_object_array_get_idx(list, i);

		if (!json_object_is_type(value, json_type_string))
			return bm_fail(err, EBADMSG, RULE, NULL, "%s: not a string", key);
		r = take(broker, json_object_get_string(value), err);
	}
	return r;
}

static int take_host(struct broker *broker, const char *text, struct bm_error *err)
{
	size_t i = 0;

	while (broker->hosts[i])
		i++;
	broker->hosts[i] = strdup(text);
	return broker->hosts[i] ? 0 : bm_fail_errno(err, ENOMEM, "hosts");
}

int config_hosts(struct broker *broker, struct bm_error *err)
{
	struct sockaddr_in self = {};
	socklen_t len = sizeof(self);
	char text[64], port[16], address[INET_ADDRSTRLEN];
	const char *const names[] = { "127.0.0.1", "localhost", address };
	int r = 0;

	if (getsockname(LISTENER, (struct sockaddr *)&self, &len) < 0)
		return bm_fail_errno(err, errno, "the listening socket");
	if (self.sin_family != AF_INET)
		return bm_fail(err, EBADMSG, RULE, NULL, "the listening socket is of no IPv4");
	if (ntohl(self.sin_addr.s_addr) >> 24 != 127)
		return bm_fail(err, EPERM, RULE, "bind it to 127.0.0.1",
			       "the listening socket is not on a loopback address");
	inet_ntop(AF_INET, &self.sin_addr, address, sizeof(address));
	snprintf(port, sizeof(port), ":%u", ntohs(self.sin_port));
	for (size_t i = 0; r == 0 && !(i == 0 && broker->hosts[0]) && i < 3; i++) {
		snprintf(text, sizeof(text), "%s%s", names[i], strcmp(port, ":80") ? port : "");
		r = take_host(broker, text, err);
	}
	return r;
}

static int take_id(struct json_object *json, const char *key, uint32_t *ret, struct bm_error *err)
{
	int64_t id = 65534;

	if (json_object_object_get_ex(json, key, NULL) && bm_json_int(json, key, &id) < 0)
		id = 0;
	if (id < 1 || id > UINT32_MAX - 1)
		return bm_fail(err, EBADMSG, RULE, NULL, "%s: no user or group to become", key);
	*ret = (uint32_t)id;
	return 0;
}

static int take_name(struct json_object *json, const char *key, char *ret, size_t size,
		     struct bm_error *err)
{
	const char *text = bm_json_string(json, key);

	if (!text || strlen(text) >= size)
		return bm_fail(err, EBADMSG, RULE, NULL, "%s: missing or too long", key);
	snprintf(ret, size, "%s", text);
	return 0;
}

static int take_used(struct broker *broker, struct json_object *json, struct bm_error *err)
{
	struct json_object *used = bm_json_get(json, "used", json_type_object);
	int64_t requests, bytes;

	if (!used)
		return 0;
	if (bm_json_int(used, "requests", &requests) < 0 ||
	    bm_json_int(used, "bytes", &bytes) < 0 || requests < 0 || bytes < 0)
		return bm_fail(err, EBADMSG, RULE, NULL, "used: no requests or bytes");
	broker->used_requests = (uint64_t)requests;
	broker->used_bytes = (uint64_t)bytes;
	return 0;
}

static int take_message(struct broker *broker, struct json_object *json, struct bm_error *err)
{
	static const char *const keys[] = { "v",        "bench",     "grant",  "definition",
					    "upstream", "addresses", "hosts",  "limits",
					    "uid",      "gid",       "verify", "used",
					    NULL };
	struct json_object *definition = bm_json_get(json, "definition", json_type_object);
	struct json_object *limits = NULL;
	const char *upstream = bm_json_string(json, "upstream");
	int64_t version = 0;
	int r = bm_json_only(json, keys, "the first message", err);

	bm_json_int(json, "v", &version);
	if (r == 0 && (version != 1 || !definition))
		r = bm_fail(err, EBADMSG, RULE, NULL, "no version 1, or no definition");
	if (r == 0)
		r = take_name(json, "bench", broker->bench, sizeof(broker->bench), err);
	if (r == 0)
		r = take_name(json, "grant", broker->grant, sizeof(broker->grant), err);
	if (r == 0)
		r = bm_broker_from_json(definition, "the definition", NULL, &broker->definition,
					err);
	if (r == 0 && upstream)
		r = bm_broker_set_upstream(&broker->definition, upstream, err);
	if (r == 0 && !broker->definition.host[0])
		r = bm_fail(err, EBADMSG, RULE, "name one in the settings",
			    "no upstream: its definition leaves it to a setting");
	if (r == 0)
		r = take_strings(broker, json, "addresses", ADDRESSES, take_address, err);
	if (r == 0 && json_object_object_get_ex(json, "hosts", NULL))
		r = take_strings(broker, json, "hosts", HOSTS, take_host, err);
	broker->limits = broker->definition.limits;
	if (r == 0 && json_object_object_get_ex(json, "limits", &limits)) {
		struct bm_broker_limits narrower = broker->limits;

		r = bm_broker_limits_parse(limits, "limits", &narrower, err);
		bm_broker_limits_narrow(&broker->limits, &narrower);
	}
	if (r == 0)
		r = take_used(broker, json, err);
	if (r == 0)
		r = take_id(json, "uid", &broker->uid, err);
	if (r == 0)
		r = take_id(json, "gid", &broker->gid, err);
	broker->verify = bm_json_bool(json, "verify");
	return r;
}

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode(const char *text, size_t len, char *ret)
{
	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = (uint32_t)(unsigned char)text[i] << 16;

		v |= i + 1 < len ? (uint32_t)(unsigned char)text[i + 1] << 8 : 0;
		v |= i + 2 < len ? (uint32_t)(unsigned char)text[i + 2] : 0;
		*ret++ = base64[v >> 18];
		*ret++ = base64[v >> 12 & 63];
		*ret++ = i + 1 < len ? base64[v >> 6 & 63] : '=';
		*ret++ = i + 2 < len ? base64[v & 63] : '=';
	}
	*ret = '\0';
}

/* The header as it is sent. */
static int make_header(struct broker *broker, const char *secret, size_t len, struct bm_error *err)
{
	const struct bm_broker *d = &broker->definition;
	size_t size = strlen(d->header) + strlen(d->before) + 2 * (len + strlen(d->user)) + 64;
	char basic[ECHO_SECRET_MAX + BM_BROKER_WORD + 2];
	size_t at;

	broker->header = malloc(size);
	if (!broker->header)
		return bm_fail_errno(err, ENOMEM, "the credential");
	if (!d->user[0]) {
		snprintf(broker->header, size, "%s: %s%s", d->header, d->before, secret);
		return 0;
	}
	at = (size_t)snprintf(broker->header, size, "%s: Basic ", d->header);
	snprintf(basic, sizeof(basic), "%s:%s", d->user, secret);
	encode(basic, strlen(basic), broker->header + at);
	explicit_bzero(basic, sizeof(basic));
	return 0;
}

static int take_credential(struct broker *broker, int fd, struct bm_error *err)
{
	char secret[ECHO_SECRET_MAX + 2];
	size_t len = 0;
	ssize_t n = 1;
	int r = 0;

	while (n > 0 && len < sizeof(secret)) {
		n = read(fd, secret + len, sizeof(secret) - len);
		if (n < 0)
			return bm_fail_errno(err, errno, "the credential");
		len += (size_t)n;
	}
	if (len && secret[len - 1] == '\n')
		len--;
	if (len && secret[len - 1] == '\r')
		len--;
	if (len < ECHO_SECRET_MIN || len > ECHO_SECRET_MAX)
		r = bm_fail(err, EBADMSG, RULE, "write the token alone into its file",
			    "the credential is not of %d to %d bytes", ECHO_SECRET_MIN,
			    ECHO_SECRET_MAX);
	for (size_t i = 0; r == 0 && i < len; i++)
		if (secret[i] < 0x21 || secret[i] > 0x7e)
			r = bm_fail(err, EBADMSG, RULE, "write the token alone into its file",
				    "byte %zu of the credential is none that a header has", i + 1);
	if (r == 0) {
		secret[len] = '\0';
		r = make_header(broker, secret, len, err);
	}
	if (r == 0 && echo_new(secret, len, &broker->echo) < 0)
		r = bm_fail_errno(err, ENOMEM, "the credential");
	explicit_bzero(secret, sizeof(secret));
	return r;
}

int config_receive(struct broker *broker, struct bm_error *err)
{
	autofree char *text = NULL;
	autojson *json = NULL;
	autoclose fd = -1;
	size_t len = 0;
	int r = receive(&text, &len, &fd, err);

	if (r == 0)
		r = bm_json_parse(text, len, "the first message", &json, err);
	if (r == 0)
		r = take_message(broker, json, err);
	/* Into memory that is locked. */
	if (r == 0)
		r = confine_memory(broker, err);
	if (r == 0)
		r = take_credential(broker, fd, err);
	return r;
}
