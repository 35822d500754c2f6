// SPDX-License-Identifier: GPL-2.0-only
#include "audit/describe.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/names.h"

/* The kernel copies at most BM_NAME_LEN - 1 bytes: a name of that length may go on. */
static bool name_cut(const char *name)
{
	return strlen(name) == BM_NAME_LEN - 1;
}

static bool has_root(const struct bm_event_file *file)
{
	return !file->truncated && file->name_count &&
	       !strcmp(file->names[file->name_count - 1], "/");
}

static const char *join(const char names[][BM_NAME_LEN], unsigned int count, bool truncated,
			char *buf, size_t size)
{
	bool rooted = !truncated && count && !strcmp(names[count - 1], "/");
	unsigned int left = count;
	char *p = buf, *end = buf + size;

	*p = '\0';
	if (truncated)
		p = stpcpy(p, "...");
	if (rooted) {
		left--;
		if (!left)
			p = stpcpy(p, "/");
	}
	while (left--) {
		const char *name = names[left];
		char shown[BM_NAME_LEN * 4 + 4];

		/* What is below no root ("pipe:[4711]") is no path and must not look like one. */
		p += snprintf(p, (size_t)(end - p), "%s%s%s", p != buf || rooted ? "/" : "",
			      bm_escape(name, shown, sizeof(shown)), name_cut(name) ? "..." : "");
	}
	return buf;
}

const char *bm_describe_path(const struct bm_event_file *file, char buf[BM_PATH_LEN])
{
	/* As in /proc/PID/maps: no path can be this. */
	if (!file->name_count && !file->inode)
		snprintf(buf, BM_PATH_LEN, "[anonymous]");
	else
		join(file->names, file->name_count, file->truncated, buf, BM_PATH_LEN);
	return buf;
}

const char *bm_describe_exe(const struct bm_event *event, char buf[BM_EXE_LEN])
{
	return join(event->exe, event->exe_count, event->exe_truncated, buf, BM_EXE_LEN);
}

static bool is_v4(const __u8 address[16])
{
	static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(address, mapped, sizeof(mapped));
}

static const char *format_address(const __u8 address[16], char buf[INET6_ADDRSTRLEN])
{
	return is_v4(address) ? inet_ntop(AF_INET, address + 12, buf, INET6_ADDRSTRLEN)
			      : inet_ntop(AF_INET6, address, buf, INET6_ADDRSTRLEN);
}

static const char *protocol_name(unsigned int protocol, char buf[4])
{
	switch (protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_ICMP:
		return "icmp";
	case IPPROTO_ICMPV6:
		return "icmpv6";
	default:
		snprintf(buf, 4, "%u", protocol & 0xff);
		return buf;
	}
}

static bool has_ports(const struct bm_event_net *net)
{
	return net->protocol == IPPROTO_TCP || net->protocol == IPPROTO_UDP;
}

const char *bm_describe_net(const struct bm_event_net *net, char buf[BM_NET_LEN])
{
	bool v4 = is_v4(net->address);
	char address[INET6_ADDRSTRLEN], number[4], port[8] = "";

	if (has_ports(net))
		snprintf(port, sizeof(port), ":%u", ntohs(net->port));
	snprintf(buf, BM_NET_LEN, "%s%s%s%s/%s", v4 ? "" : "[",
		 format_address(net->address, address), v4 ? "" : "]", port,
		 protocol_name(net->protocol, number));
	return buf;
}

/* The kernel's BPF_DEVCG_DEV_*, in the low half. */
#define DEVICE_BLOCK 1

const char *bm_describe_subject(const struct bm_event *event, char *buf, size_t size)
{
	const struct bm_event_subject *subject = &event->subject;
	char shown[BM_NAME_LEN * 4 + 4];

	if (event->hook == BM_HOOK_CAPABLE)
		snprintf(buf, size, "%s", bm_capability_name(subject->number));
	else if (event->hook == BM_HOOK_DEVICE)
		snprintf(buf, size, "%c %u:%u",
			 (subject->access & 0xffff) == DEVICE_BLOCK ? 'b' : 'c',
			 subject->number >> 20, subject->number & 0xfffff);
	else if (subject->name[0])
		snprintf(buf, size, "%s", bm_escape(subject->name, shown, sizeof(shown)));
	else
		snprintf(buf, size, "%u", subject->number);
	return buf;
}

/*
 * Names come from the Bench and the hint is made to be pasted into a root shell: what needs more
 * than single quotes, or would be read as SRC:DEST, gets no hint.
 */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "/._+-@,=%";

const char *bm_describe_file_hint(const char *path, bool writes, const char *bench,
				  char buf[BM_HINT_LEN])
{
	const char *quote;

	if (strpbrk(path, "'\\:"))
		return NULL;
	quote = strspn(path, plain) == strlen(path) ? "" : "'";
	snprintf(buf, BM_HINT_LEN, "benchmon grant %s file %s%s:%s%s", bench, quote, path,
		 writes ? "rw" : "ro", quote);
	return buf;
}

const char *bm_describe_again(const char *bench, unsigned int number, const char *source,
			      const char *dest, bool writes, char buf[BM_HINT_LEN])
{
	int len;

	if (source[strspn(source, plain)] || dest[strspn(dest, plain)])
		return NULL;
	len = snprintf(buf, BM_HINT_LEN, "benchmon revoke %s/%u && benchmon grant %s file %s:%s:%s",
		       bench, number, bench, source, dest, writes ? "rw" : "ro");
	return len < BM_HINT_LEN ? buf : NULL;
}

static const char *file_hint(const struct bm_event_file *file, const char *bench, char *buf)
{
	char path[BM_PATH_LEN];

	if (!has_root(file) || file->name_count < 2 || !(file->wanted & (BM_R | BM_W)) ||
	    file->wanted & BM_X)
		return NULL;
	for (unsigned int i = 0; i < file->name_count; i++)
		if (name_cut(file->names[i]) || !file->names[i][0])
			return NULL;
	bm_describe_path(file, path);
	return bm_describe_file_hint(path, file->wanted & BM_W, bench, buf);
}

/* Unspecified, loopback, link-local and multicast: what no profile may hold. */
static bool never_sealed(const __u8 a[16])
{
	static const __u8 zero[15];

	if (is_v4(a))
		return a[12] == 0 || a[12] == 127 || a[12] >= 224 || (a[12] == 169 && a[13] == 254);
	return a[0] == 0xff || (a[0] == 0xfe && (a[1] & 0xc0) == 0x80) ||
	       (!memcmp(a, zero, sizeof(zero)) && a[15] <= 1);
}

/* RFC 1918, RFC 6598, unique local: sealed only when the operator says that it is meant. */
static bool private_network(const __u8 a[16])
{
	if (!is_v4(a))
		return (a[0] & 0xfe) == 0xfc;
	return a[12] == 10 || (a[12] == 172 && (a[13] & 0xf0) == 16) ||
	       (a[12] == 192 && a[13] == 168) || (a[12] == 100 && (a[13] & 0xc0) == 64);
}

static const char *net_hint(const struct bm_event_net *net, const char *bench, char *buf)
{
	const char *quote = is_v4(net->address) ? "" : "'";
	char text[BM_NET_LEN];

	if (!has_ports(net) || !net->port || never_sealed(net->address))
		return NULL;
	bm_describe_net(net, text);
	if (net->protocol == IPPROTO_TCP)
		*strrchr(text, '/') = '\0';
	snprintf(buf, BM_HINT_LEN, "benchmon grant %s net %s%s%s%s", bench, quote, text, quote,
		 private_network(net->address) ? " --private" : "");
	return buf;
}

/* What was granted once could be again. */
static bool has_ended(__u32 rule)
{
	return rule == BM_RULE_REVOKED || rule == BM_RULE_EXPIRED;
}

const char *bm_describe_hint(const struct bm_event *event, const char *bench, char buf[BM_HINT_LEN])
{
	if (event->verdict == BM_ALLOW || event->verdict == BM_NO_VERDICT)
		return NULL;
	switch (event->hook) {
	case BM_HOOK_FILE_OPEN:
	case BM_HOOK_FILE_PERMISSION:
	case BM_HOOK_GETATTR:
	case BM_HOOK_READLINK:
		return event->rule == BM_RULE_NO_GRANT || has_ended(event->rule)
			       ? file_hint(&event->file, bench, buf)
			       : NULL;
	/* The source of a packet that came in is nothing a Bench could be granted. */
	case BM_HOOK_CONNECT4:
	case BM_HOOK_CONNECT6:
	case BM_HOOK_SENDMSG4:
	case BM_HOOK_SENDMSG6:
	case BM_HOOK_EGRESS:
		return event->rule == BM_RULE_NOT_SEALED || has_ended(event->rule)
			       ? net_hint(&event->net, bench, buf)
			       : NULL;
	default:
		return NULL;
	}
}
