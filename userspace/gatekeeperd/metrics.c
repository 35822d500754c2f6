// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/names.h"

#define METRICS_NEW METRICS_NAME ".new"
#define EACH_NS 15000000000ull

/* The name begins the file's line, so a name is said in one place alone. */
static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void benches(FILE *out, const struct daemon *d)
{
	size_t count[BENCH_STATE_MAX] = {}, frozen = 0;

	for (const struct bench *b = d->model.benches; b; b = b->next) {
		count[b->state]++;
		frozen += b->frozen;
	}
	head(out, "benchmon_benches", "gauge", "Benches by state.");
	for (int state = 0; state < BENCH_STATE_MAX; state++)
		fprintf(out, "benchmon_benches{state=\"%s\"} %zu\n", bench_state_name(state),
			count[state]);
	head(out, "benchmon_benches_frozen", "gauge", "Benches that an operator has frozen.");
	fprintf(out, "benchmon_benches_frozen %zu\n", frozen);
}

static void grants(FILE *out, const struct daemon *d)
{
	head(out, "benchmon_grants", "gauge", "Grants that stand, by Bench and kind.");
	for (const struct bench *b = d->model.benches; b; b = b->next) {
		size_t count[GRANT_KIND_MAX] = {};

		for (const struct grant *g = b->grants; g; g = g->next)
			count[g->kind]++;
		for (int kind = 0; kind < GRANT_KIND_MAX; kind++)
			if (count[kind])
				fprintf(out, "benchmon_grants{bench=\"%s\",kind=\"%s\"} %zu\n",
					b->name, grant_kind_name(kind), count[kind]);
	}
}

static void denials(FILE *out, struct daemon *d)
{
	struct bm_stats stats;

	head(out, "benchmon_denials_total", "counter",
	     "Denials, by Bench and hook, in the kernel.");
	for (const struct bench *b = d->model.benches; b; b = b->next) {
		if (bm_stats_get(d->kernel, b->id, &stats) < 0)
			continue;
		for (uint32_t hook = 0; hook < BM_HOOK_MAX; hook++)
			if (stats.count[hook][BM_DENY])
				fprintf(out,
					"benchmon_denials_total{bench=\"%s\",hook=\"%s\"} %" PRIu64
					"\n",
					b->name, bm_hook_name(hook),
					(uint64_t)stats.count[hook][BM_DENY]);
	}
	head(out, "benchmon_learning", "gauge", "1 for a Bench that learns: it is not enforced.");
	for (const struct bench *b = d->model.benches; b; b = b->next)
		fprintf(out, "benchmon_learning{bench=\"%s\"} %d\n", b->name, b->learns);
	head(out, "benchmon_events_suppressed_total", "counter",
	     "Events that were counted and not delivered, by Bench.");
	for (const struct bench *b = d->model.benches; b; b = b->next)
		if (bm_stats_get(d->kernel, b->id, &stats) == 0)
			fprintf(out, "benchmon_events_suppressed_total{bench=\"%s\"} %" PRIu64 "\n",
				b->name, (uint64_t)stats.lost);
}

static void egress(FILE *out, struct daemon *d)
{
	uint64_t sent;

	head(out, "benchmon_egress_bytes_total", "counter",
	     "Bytes of the packets that left a Bench's network.");
	for (const struct bench *b = d->model.benches; b; b = b->next)
		if (bm_sent_get(d->kernel, b->cgroup.id, &sent) == 0)
			fprintf(out, "benchmon_egress_bytes_total{bench=\"%s\"} %" PRIu64 "\n",
				b->name, sent);
}

char *metrics_text(struct daemon *d)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	head(out, "benchmon_info", "gauge", "The version of gatekeeperd.");
	fputs("benchmon_info{version=\"" BENCHMON_VERSION "\"} 1\n", out);
	benches(out, d);
	grants(out, d);
	denials(out, d);
	egress(out, d);
	head(out, "benchmon_events_unwritten_total", "counter",
	     "Events that could not be written to their file since gatekeeperd started.");
	fprintf(out, "benchmon_events_unwritten_total %" PRIu64 "\n", bm_store_unwritten(d->store));
	head(out, "benchmon_ledger_lines_total", "counter", "Lines of the ledger.");
	fprintf(out, "benchmon_ledger_lines_total %" PRIu64 "\n",
		(uint64_t)bm_ledger_head(d->ledger)->n);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Who reads it finds the old one or the new one, whole. Names of Benches are not for everybody. */
static int put(struct daemon *d)
{
	autofree char *text = metrics_text(d);
	autoclose fd = -1;
	int r;

	if (!text)
		return -ENOMEM;
	unlinkat(d->log_dir, METRICS_NEW, 0);
	fd = openat(d->log_dir, METRICS_NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = bm_write_all(fd, text, strlen(text));
	if (r == 0 && d->config.metrics[0] &&
	    (fchown(fd, 0, d->config.metrics_gid) < 0 || fchmod(fd, 0640) < 0))
		r = -errno;
	if (r == 0 && renameat(d->log_dir, METRICS_NEW, d->log_dir, METRICS_NAME) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(d->log_dir, METRICS_NEW, 0);
	return r;
}

void metrics_review(struct daemon *d)
{
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME);
	int r;

	if (!d->due_ns[TIMER_METRICS] || d->due_ns[TIMER_METRICS] > now)
		return;
	r = put(d);
	if (r < 0)
		daemon_log(LOG_LEVEL_ERROR, METRICS_NAME ": %s", strerror(-r));
	daemon_timer(d, TIMER_METRICS, now + EACH_NS);
}

void metrics_begin(struct daemon *d)
{
	daemon_timer(d, TIMER_METRICS, bm_now_ns(CLOCK_BOOTTIME));
}
