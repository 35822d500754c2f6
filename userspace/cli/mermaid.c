// SPDX-License-Identifier: GPL-2.0-only
#include "cli/mermaid.h"

#include <ctype.h>
#include <string.h>

#include "cli/stream.h"
#include "cli/text.h"

/* More than that nobody finds anything in. */
#define HOSTS_SHOWN 12
#define DENIALS_SHOWN 20

/*
 * A label, between the quotes that it stands in. Whatever could end it, or be read as markup, HTML,
 * Markdown or an entity, becomes an entity: of ASCII only what is listed stays. The rest has been
 * escaped by cli_show() and is plain letters.
 */
static void label(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 0x80 || isalnum(c) || strchr(" /.:,_+@=-", c))
			fputc(c, out);
		else
			fprintf(out, "#%u;", c);
	}
}

static void label_key(FILE *out, struct json_object *json, const char *key)
{
	char shown[CLI_SHOWN];

	label(out, cli_show_key(json, key, shown, sizeof(shown)));
}

/* Two lines of a node: what it is, and which one. */
static void node(FILE *out, const char *id, size_t number, const char *open, const char *close,
		 struct json_object *grant, const char *what, const char *key)
{
	fprintf(out, "    %s%zu%s\"", id, number, open);
	label_key(out, grant, "id");
	fprintf(out, " %s<br>", what);
	label_key(out, grant, key);
	fprintf(out, "\"%s\n", close);
}

static void link_to(FILE *out, const char *id, size_t number, struct json_object *json,
		    const char *before, const char *key)
{
	fprintf(out, "    bench -->");
	if (bm_json_string(json, key)) {
		fprintf(out, "|\"%s", before);
		label_key(out, json, key);
		fprintf(out, "\"|");
	}
	fprintf(out, " %s%zu\n", id, number);
}

static void draw_file(FILE *out, struct json_object *grant, size_t number)
{
	const char *rights = bm_json_string(grant, "rights");
	char what[CLI_SHORT + 16];

	snprintf(what, sizeof(what), "%s%s", bm_json_bool(grant, "secret") ? "secret " : "file ",
		 rights && !strcmp(rights, "rw") ? "rw" : "ro");
	node(out, "g", number, "[", "]", grant, what, "source");
	link_to(out, "g", number, grant, "", "dest");
}

/* With the hosts of a profile behind it. */
static void draw_net(FILE *out, struct json_object *grant, size_t number)
{
	struct json_object *hosts = bm_json_get(grant, "hosts", json_type_array);
	bool profile = bm_json_string(grant, "profile");
	size_t count = hosts ? json_object_array_length(hosts) : 0;

	node(out, "g", number, "{{", "}}", grant, "net", profile ? "profile" : "destination");
	link_to(out, "g", number, grant, "", "");
	for (size_t i = 0; i < count && i < HOSTS_SHOWN; i++) {
		struct json_object *host = json_object_array_get_idx(hosts, i);

		if (!bm_json_string(host, "host") || bm_json_bool(host, "revoked"))
			continue;
		fprintf(out, "    g%zu --> g%zuh%zu([\"", number, number, i);
		label_key(out, host, "host");
		fprintf(out, "\"])\n");
	}
	if (count > HOSTS_SHOWN)
		fprintf(out, "    g%zu --> g%zumore([\"and %zu more\"])\n", number, number,
			count - HOSTS_SHOWN);
}

static void draw_listen(FILE *out, struct json_object *grant, size_t number)
{
	struct json_object *from = bm_json_get(grant, "from", json_type_array);
	char shown[CLI_SHOWN];

	fprintf(out, "    g%zu[/\"", number);
	label_key(out, grant, "id");
	fprintf(out, " listen<br>");
	for (size_t i = 0; from && i < json_object_array_length(from) && i < HOSTS_SHOWN; i++) {
		const char *address = json_object_get_string(json_object_array_get_idx(from, i));

		label(out, i ? ", " : "from ");
		label(out, cli_show(address ?: "", shown, sizeof(shown)));
	}
	fprintf(out, "\"/]\n    g%zu -->|\"", number);
	label_key(out, grant, "port");
	label(out, "/");
	label_key(out, grant, "protocol");
	fprintf(out, "\"| bench\n");
}

/* The credential stays at the broker: so do the lines. */
static void draw_broker(FILE *out, struct json_object *grant, size_t number)
{
	node(out, "g", number, "[[", "]]", grant, "broker", "broker");
	link_to(out, "g", number, grant, "", "endpoint");
	fprintf(out, "    g%zu --> g%zuh0([\"", number, number);
	label_key(out, grant, "upstream");
	fprintf(out, "\"])\n");
}

static void draw_grant(FILE *out, struct json_object *grant, size_t number)
{
	static const struct {
		const char *kind;
		void (*fn)(FILE *out, struct json_object *grant, size_t number);
	} kinds[] = { { "file", draw_file },
		      { "net", draw_net },
		      { "listen", draw_listen },
		      { "broker", draw_broker } };
	const char *kind = bm_json_string(grant, "kind");

	for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i].kind))
			kinds[i].fn(out, grant, number);
}

static void draw_denial(FILE *out, const struct cli_denial *denial, size_t number)
{
	struct json_object *object = bm_json_get(denial->event, "object", json_type_object);
	char what[CLI_SHOWN];

	fprintf(out, "    d%zu[\"", number);
	label(out, cli_event_object(denial->event, what, sizeof(what)));
	fprintf(out, "\"]:::denied\n    bench -.->|\"%llu x ", (unsigned long long)denial->count);
	label_key(out, denial->event, "hook");
	if (object && bm_json_string(object, "wanted") && *bm_json_string(object, "wanted")) {
		fputc(' ', out);
		label_key(out, object, "wanted");
	}
	fprintf(out, "<br>");
	label_key(out, denial->event, "rule");
	fprintf(out, "\"| d%zu\n", number);
}

static void draw_denials(FILE *out, const struct cli_denials *denials)
{
	uint64_t left = denials->total + denials->lost;
	size_t i;

	for (i = 0; i < denials->kinds && i < DENIALS_SHOWN; i++) {
		draw_denial(out, &denials->list[i], i + 1);
		left -= denials->list[i].count;
	}
	if (left)
		fprintf(out, "    dmore[\"%llu other denials\"]:::denied\n    bench -.-> dmore\n",
			(unsigned long long)left);
	if (i || left)
		fprintf(out, "    classDef denied stroke:#c00,stroke-dasharray:4 3\n");
}

void cli_mermaid(FILE *out, struct json_object *bench, const struct cli_denials *denials)
{
	struct json_object *grants = bm_json_get(bench, "grants", json_type_array);

	fprintf(out, "flowchart LR\n    bench((\"");
	label_key(out, bench, "name");
	fprintf(out, "<br>");
	label_key(out, bench, "state");
	fprintf(out, "\"))\n");
	for (size_t i = 0; grants && i < json_object_array_length(grants); i++)
		draw_grant(out, json_object_array_get_idx(grants, i), i + 1);
	if (denials)
		draw_denials(out, denials);
}
