// SPDX-License-Identifier: GPL-2.0-only
/* Configuration of images: as text, and as trees that try to lead elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "policy/discover.h"

#define HOME "/root"

/* Big: one for all. */
static struct bm_discovery d;

static int fresh(void **state)
{
	(void)state;
	memset(&d, 0, sizeof(d));
	return 0;
}

/* "HOST:PORT HOST:PORT" */
static const char *hosts(void)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < d.count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%u", i ? " " : "",
					 d.found[i].host, d.found[i].port);
	return text;
}

static void left(size_t i, const char *expected)
{
	if (i >= d.left_count || !strstr(d.left[i], expected))
		fail_msg("%zu left out, no \"%s\": %s", d.left_count, expected,
			 i < d.left_count ? d.left[i] : "");
}

static void apt_list(void **state)
{
	(void)state;
	bm_discover_apt_list(
		"# deb http://no.test/ x main\n"
		"deb http://a.test/debian bookworm main\r\n"
		"  deb-src\thttps://B.test:8443/debian/ bookworm main # deb http://no\n"
		"deb [ arch=amd64 signed-by=/x.gpg ] http://c.test/ ./\n"
		"deb [arch=amd64]http://d.test x main\n"
		"deb http://a.test/security x main\n"
		"deb cdrom:[Debian 12]/ bookworm main\n"
		"deb file:/srv/mirror x main\n"
		"deb https://user:secret@e.test/ x main\n"
		"debug http://no.test/ x\n"
		"deb [never http://no.test/ x\n"
		"deb\n"
		"deb http://under_score.test/ x main\n"
		"deb http://192.0.2.1/ x main\n"
		"deb https://f.test:70000/ x main\n"
		"deb https://f.test:/ x main\n"
		"deb mirror+file:/etc/apt/m x main\n"
		"deb mirror+https://no.test/list x main",
		"/l", &d);
	assert_string_equal(hosts(), "a.test:80 b.test:8443 c.test:80 d.test:80 e.test:443 "
				     "f.test:443");
	assert_string_equal(d.found[1].file, "/l");
	assert_int_equal(d.left_count, 6);
	left(0, "cdrom: in /l: neither http nor https");
	left(1, "file: in /l: neither http nor https");
	left(2, "under_score.test in /l: an underscore");
	left(3, "192.0.2.1 in /l: the last label");
	left(4, "f.test in /l: its port is not in 1 to 65535");
	left(5, "mirror+https: in /l: neither");
	assert_int_equal(d.list_count, 1);
	assert_string_equal(d.lists[0], "/etc/apt/m");
}

static void apt_sources(void **state)
{
	(void)state;
	bm_discover_apt_sources("# comment\n"
				"Types: deb\n"
				"URIs: http://a.test/debian https://b.test/x\n"
				"# between\n"
				"  http://c.test/\n"
				"\thttp://d.test/\n"
				"Suites: bookworm\n"
				" http://no.test/\n"
				"\n"
				"Types: deb\n"
				"uris:\n"
				" mirror+file:///etc/apt/mirrors/x.list\n"
				"Signed-By:\n"
				" http://no.test/\n"
				" .\n"
				"   \n"
				"URIs: http://off.test/\n"
				"Enabled: No\n"
				"\n"
				"Enabled: yes\n"
				"URIs: http://e.test/",
				"/s", &d);
	assert_string_equal(hosts(), "a.test:80 b.test:443 c.test:80 d.test:80 e.test:80");
	assert_string_equal(d.lists[0], "/etc/apt/mirrors/x.list");
	assert_int_equal(d.left_count, 0);
}

/* What an image's apt asks instead of the hosts of its sources. */
static void apt_proxies(void **state)
{
	(void)state;
	bm_discover_apt_conf(
		"// Acquire::http::Proxy \"http://no.test\";\n"
		"# Acquire::http::Proxy \"http://no.test\";\n"
		"/* Acquire::http::Proxy \"http://no.test\"; */\n"
		"APT::Install-Recommends \"false\";\n"
		"acquire::HTTP::proxy \"http://me:secret@P.test:3128/\";\n"
		"Acquire { Retries \"3\"; http { Proxy { B.test \"DIRECT\"; \"x\"; }; };\n"
		"  https { Proxy::c.test \"https://q.test\"; }; };\n"
		"DPkg::Post-Invoke { \"rm -f /x || true; }\"; };\n"
		"Acquire::https::Proxy::e.test \"socks5h://s.test\";\n"
		"Acquire::https::Proxy::f.test \"false\";\n"
		"Acquire::https::Proxy::g.test \"ftp://no.test\";\n"
		"Acquire::http::Proxy-Auto-Detect \"/bin/x\";",
		"/c", &d);
	bm_discover_apt_list("deb http://a.test/ x\ndeb-src http://a.test/ x\n"
			     "deb http://b.test/ x\ndeb https://c.test:8443/ x\n"
			     "deb https://d.test/ x\ndeb https://e.test/ x\ndeb https://f.test/ x\n"
			     "deb https://g.test/ x\ndeb http://HTTPS///h.test/ x",
			     "/l", &d);
	assert_string_equal(hosts(), "p.test:3128 b.test:80 q.test:443 s.test:1080 f.test:443");
	assert_string_equal(d.found[0].file, "/c");
	assert_string_equal(d.found[1].file, "/l");
	assert_int_equal(d.left_count, 8);
	left(0, "Proxy-Auto-Detect in /c: what it answers is not known");
	left(1, "a.test in /l: asked for by the proxy in /c");
	left(2, "c.test in /l: asked for by the proxy in /c");
	left(6, "a proxy in /c: not of http, https or socks5h");
	left(7, "HTTPS in /l: asked for by the proxy in /c");
	for (size_t i = 0; i < d.left_count; i++)
		assert_null(strstr(d.left[i], "secret"));
}

static void apt_proxies_changed(void **state)
{
	static const char list[] = "deb http://a.test/ x\ndeb https://b.test/ x";

	(void)state;
	bm_discover_apt_conf("Acquire::http::Proxy \"http://p.test\";", "/1", &d);
	bm_discover_apt_list(list, "/l", &d);
	/* Without a port, that of what is asked for. */
	assert_string_equal(hosts(), "p.test:80 p.test:443");
	d.count = 0;
	bm_discover_apt_conf("Acquire::https::Proxy \"DIRECT\";", "/2", &d);
	bm_discover_apt_list(list, "/l", &d);
	assert_string_equal(hosts(), "p.test:80 b.test:443");
	d.count = 0;
	bm_discover_apt_conf("Acquire::http::Proxy \"\";", "/3", &d);
	bm_discover_apt_list(list, "/l", &d);
	assert_string_equal(hosts(), "a.test:80 b.test:443");
	d.count = 0;
	bm_discover_apt_conf("Acquire::http::Proxy::a.test \"http://q.test:1\";\n"
			     "Acquire::http::Proxy \"http://q.test:2\";\n"
			     "#clear Acquire::http::Proxy Acquire::ftp;\n#clear ;\n#include /x\n",
			     "/4", &d);
	bm_discover_apt_list(list, "/l", &d);
	assert_string_equal(hosts(), "a.test:80 b.test:443");
	assert_int_equal(d.proxy_count, 1);
	left(d.left_count - 1, "#include in /4: it is not followed");
}

/* What is too much is said, and what is torn does no harm. */
static void apt_conf_bounds(void **state)
{
	static const char *const torn[] = {
		"a", "a \"", "{", "}", "/*", "#", "#clear", "a {", "\""
	};
	char text[8192];

	(void)state;
	for (size_t i = 0; i < sizeof(torn) / sizeof(torn[0]); i++)
		bm_discover_apt_conf(torn[i], "/c", &d);
	assert_int_equal(d.left_count, 0);
	memset(text, '{', 40);
	text[40] = '\0';
	bm_discover_apt_conf(text, "/deep", &d);
	left(0, "the rest in /deep: too long or too deep");
	memset(text, 'x', 4000);
	text[4000] = '\0';
	bm_discover_apt_conf(text, "/long", &d);
	left(1, "the rest in /long: too long or too deep");
	for (int i = 0; i <= BM_PROXIES_MAX; i++) {
		snprintf(text, sizeof(text), "Acquire::http::Proxy::h%d.test \"http://p.test\";",
			 i);
		bm_discover_apt_conf(text, "/many", &d);
	}
	left(2, "a proxy in /many: more than 16 of them");
	snprintf(text, sizeof(text), "Acquire::http::Proxy \"http://%0600d\";", 0);
	bm_discover_apt_conf(text, "/uri", &d);
	left(3, "a proxy in /uri: it is too long");
}

static void npmrc(void **state)
{
	(void)state;
	assert_true(bm_discover_npmrc("; registry = https://no.test/\n"
				      "registry = https://no.test/\n"
				      " registry=\"https://a.test:8443/npm/\" \n"
				      "@corp:registry=http://b.test/\n"
				      "//a.test/:_authToken=secret\n"
				      "#registry=https://no.test/\n"
				      "noregistry=https://no.test/\n"
				      "@other:registry=${REGISTRY}\n"
				      "[section]\n"
				      "registry=https://no.test/\n",
				      "/r", true, &d));
	assert_string_equal(hosts(), "b.test:80 a.test:8443");
	left(0, "a registry in /r: it depends on the environment");
	fresh(NULL);
	assert_true(bm_discover_npmrc("registry=https://a.test/\n@c:registry=https://b.test/", "/r",
				      false, &d));
	assert_string_equal(hosts(), "b.test:443");
	assert_false(
		bm_discover_npmrc("@c:registry=https://b.test/\nloglevel=warn", "/r", true, &d));
	assert_int_equal(d.left_count, 0);
	bm_discover_npmrc("https-proxy=http://me:secret@p.test/\nproxy=\n", "/r", true, &d);
	assert_int_equal(d.left_count, 1);
	left(0, "https-proxy in /r: npm's proxies are not taken");
}

static void npm_default(void **state)
{
	(void)state;
	assert_true(bm_discover_npm_default("x: new Definition('no-registry', {\n default: 1 }),\n"
					    "registry: new Definition('registry', {\n"
					    "    default: 'https://a.test/',\n"
					    "    type: url,\n",
					    "/j", &d));
	assert_string_equal(hosts(), "a.test:443");
	fresh(NULL);
	assert_true(bm_discover_npm_default("define(\"registry\", { default: \"http://b.test\"",
					    "/j", &d));
	assert_string_equal(hosts(), "b.test:80");
	fresh(NULL);
	assert_false(bm_discover_npm_default("define('registry', { type: url, x: 'https://b.test'",
					     "/j", &d));
	assert_false(
		bm_discover_npm_default("define('registry', { default: null,\n x: 'y'", "/j", &d));
	assert_false(
		bm_discover_npm_default("define('registry', { default: 'https://b.test", "/j", &d));
	assert_int_equal(d.count, 0);
}

static void pip_conf(void **state)
{
	static const char text[] = "[global]\n"
				   "# index-url = https://no.test/\n"
				   "Index_URL = https://user:secret@a.test/simple\n"
				   "extra-index-url =\n"
				   "    http://b.test:8080/simple\n"
				   "    ; https://no.test\n"
				   "\n"
				   "    https://c.test/simple https://d.test/\n"
				   "timeout: 60\n"
				   "  https://no.test/\n"
				   "find-links = https://no.test/\n";

	(void)state;
	assert_true(bm_discover_pip_conf(text, "/p", "index-url", &d));
	assert_string_equal(hosts(), "a.test:443");
	assert_true(bm_discover_pip_conf(text, "/p", "extra-index-url", &d));
	assert_string_equal(hosts(), "a.test:443 b.test:8080 c.test:443 d.test:443");
	assert_false(bm_discover_pip_conf("index-urls = https://a.test\nindex-url:\n", "/p",
					  "index-url", &d));
	assert_int_equal(d.left_count, 0);
	bm_discover_pip_conf("[global]\nproxy = http://p.test:3128\n", "/p", "index-url", &d);
	left(0, "proxy in /p: pip's proxy is not taken");
}

static void pip_default(void **state)
{
	static const char one[] = "class PackageIndex:\n\n"
				  "PyPI = PackageIndex(\"https://i.test/\", "
				  "file_storage_domain=\"f.test\")\n"
				  "TestPyPI = PackageIndex(\"https://no.test/\", ...";
	static const char two[] = "\nPyPI = PackageIndex(\n    'https://i.test/', "
				  "file_storage_domain='f.test'\n)\n";

	(void)state;
	assert_true(bm_discover_pip_default(one, "/i", true, &d));
	assert_string_equal(hosts(), "i.test:443 f.test:443");
	fresh(NULL);
	assert_true(bm_discover_pip_default(two, "/i", true, &d));
	assert_string_equal(hosts(), "i.test:443 f.test:443");
	/* A mirror has its own files; the index itself, configured, has them where it always has.
	 */
	fresh(NULL);
	bm_discover_pip_conf("index-url = https://mirror.test/", "/p", "index-url", &d);
	assert_true(bm_discover_pip_default(one, "/i", false, &d));
	assert_string_equal(hosts(), "mirror.test:443");
	bm_discover_pip_conf("index-url = https://i.test/simple", "/p", "index-url", &d);
	assert_true(bm_discover_pip_default(one, "/i", false, &d));
	assert_string_equal(hosts(), "mirror.test:443 i.test:443 f.test:443");
	assert_false(bm_discover_pip_default("PyPI = None", "/i", true, &d));
}

static void bounds(void **state)
{
	char line[128];

	(void)state;
	for (int i = 0; i < BM_FOUND_MAX + BM_LEFT_MAX + 2; i++) {
		snprintf(line, sizeof(line), "deb http://h%d.test/ x", i);
		bm_discover_apt_list(line, "/l", &d);
	}
	assert_int_equal(d.count, BM_FOUND_MAX);
	assert_int_equal(d.left_count, BM_LEFT_MAX);
	assert_true(d.more_left);
	left(0, "h64.test in /l: more than 64 hosts");
	fresh(NULL);
	bm_discover_apt_list("deb http://a\033[2J.test/ x", "/l\n", &d);
	left(0, "a\\x1b[2J.test in /l\\x0a: byte 0x1b at 2");
}

/* --- trees -------------------------------------------------------------------------------------
 */

struct lab {
	char dir[64], image[80];
};

static int set_up(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	snprintf(lab->dir, sizeof(lab->dir), "/tmp/benchmon-image-XXXXXX");
	assert_non_null(mkdtemp(lab->dir));
	snprintf(lab->image, sizeof(lab->image), "%s/image", lab->dir);
	assert_int_equal(mkdir(lab->image, 0755), 0);
	*state = lab;
	return fresh(NULL);
}

static int tear_down(void **state)
{
	struct lab *lab = *state;
	const char *argv[] = { "rm", "-rf", lab->dir, NULL };
	int status = -1;

	assert_int_equal(bm_run(argv, 10000, &status, NULL, NULL), 0);
	free(lab);
	return status;
}

/* The path of it on the host, with the directories above it made. */
static const char *place(const struct lab *lab, const char *file)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s%s", lab->image, file);
	for (char *p = path + strlen(lab->image) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	return path;
}

static void put(const struct lab *lab, const char *file, const char *text)
{
	assert_int_equal(bm_write_file(AT_FDCWD, place(lab, file), O_CREAT | O_TRUNC, 0644, text),
			 0);
}

static void put_link(const struct lab *lab, const char *file, const char *target)
{
	assert_int_equal(symlink(target, place(lab, file)), 0);
}

static int look(const struct lab *lab, enum bm_discover what, struct bm_error *err)
{
	autoclose root = open(lab->image, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*err = (struct bm_error){};
	assert_true(root >= 0);
	return bm_discover(root, what, &d, err);
}

static void found(const struct lab *lab, enum bm_discover what, const char *expected)
{
	struct bm_error err;

	fresh(NULL);
	if (look(lab, what, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(hosts(), expected);
}

static void not_found(const struct lab *lab, enum bm_discover what, const char *because)
{
	struct bm_error err;

	if (look(lab, what, &err) >= 0 || !strstr(err.message, because) || !err.remedy[0])
		fail_msg("\"%s\", not: %s", err.message, because);
}

static void apt_tree(void **state)
{
	struct lab *lab = *state;

	not_found(lab, BM_DISCOVER_APT, "apt: the image names no source with http or https");
	put(lab, "/etc/apt/sources.list", "deb cdrom:x y z\n");
	not_found(lab, BM_DISCOVER_APT, "left out: cdrom: in /etc/apt/sources.list: neither");
	put(lab, "/etc/apt/sources.list.d/z.list", "deb http://z.test/ x y\n");
	put(lab, "/etc/apt/sources.list.d/a.sources", "URIs: http://a.test/\n");
	put(lab, "/etc/apt/sources.list.d/m.sources", "URIs: mirror+file:/etc/apt/mirrors/m\n");
	put(lab, "/etc/apt/sources.list.d/ignored.list.save", "deb http://no.test/ x y\n");
	put(lab, "/etc/apt/sources.list.d/ignored~.list", "deb http://no.test/ x y\n");
	put(lab, "/etc/apt/sources.list.d/.list", "deb http://no.test/ x y\n");
	put(lab, "/etc/apt/mirrors/m", "# two\nhttps://m.test/\tpriority:1\nhttp://n.test/\n");
	found(lab, BM_DISCOVER_APT, "a.test:80 z.test:80 m.test:443 n.test:80");
	assert_string_equal(d.found[1].file, "/etc/apt/sources.list.d/z.list");
	assert_string_equal(d.found[2].file, "/etc/apt/mirrors/m");
	left(0, "cdrom:");
	put(lab, "/etc/apt/apt.conf.d/01proxy", "Acquire::http::Proxy \"http://p.test:3128\";\n");
	put(lab, "/etc/apt/apt.conf.d/02proxy.off", "Acquire::http::Proxy \"http://no.test\";\n");
	put(lab, "/etc/apt/apt.conf.d/03proxy.conf", "Acquire::http::Proxy::z.test DIRECT;\n");
	found(lab, BM_DISCOVER_APT, "p.test:3128 z.test:80");
	assert_string_equal(d.found[0].file, "/etc/apt/apt.conf.d/01proxy");
	put(lab, "/etc/apt/apt.conf", "#clear Acquire::http::Proxy;\n");
	found(lab, BM_DISCOVER_APT, "a.test:80 z.test:80 m.test:443 n.test:80");
}

static void npm_tree(void **state)
{
	static const char table[] = "  registry: new Definition('registry', {\n"
				    "    default: 'https://d.test/',\n";
	struct lab *lab = *state;

	not_found(lab, BM_DISCOVER_NPM, "npm: the image has no registry configured, and no npm");
	put(lab, "/usr/share/nodejs/@npmcli/config/lib/definitions/definitions.js", "nothing");
	not_found(lab, BM_DISCOVER_NPM, "no npm whose default could be read");
	mkdir(place(lab, "/usr/share/nodejs/npm"), 0755);
	put(lab, "/usr/share/nodejs/@npmcli/config/lib/definitions/definitions.js", table);
	found(lab, BM_DISCOVER_NPM, "d.test:443");
	put(lab, "/etc/npmrc", "@c:registry=https://c.test/\n");
	found(lab, BM_DISCOVER_NPM, "c.test:443 d.test:443");
	put(lab, "/etc/npmrc", "@c:registry=https://c.test/\nregistry=https://e.test/\n");
	found(lab, BM_DISCOVER_NPM, "c.test:443 e.test:443");
	put(lab, HOME "/.npmrc", "registry=http://r.test/\n");
	found(lab, BM_DISCOVER_NPM, "r.test:80 c.test:443");
	put(lab, HOME "/.npmrc", "registry=file:/x\n");
	put(lab, "/etc/npmrc", "");
	not_found(lab, BM_DISCOVER_NPM,
		  "left out: file: in " HOME "/.npmrc: neither http nor https");
}

static void pip_tree(void **state)
{
	static const char source[] = "\nPyPI = PackageIndex('https://i.test/', "
				     "file_storage_domain='f.test')\n";
	struct lab *lab = *state;

	not_found(lab, BM_DISCOVER_PIP, "pip: the image has no index configured, and no pip");
	put(lab, "/usr/lib/python3/dist-packages/pip/_internal/models/index.py", source);
	found(lab, BM_DISCOVER_PIP, "i.test:443 f.test:443");
	put(lab, "/etc/pip.conf", "[global]\nextra-index-url = https://x.test/\n");
	found(lab, BM_DISCOVER_PIP, "x.test:443 i.test:443 f.test:443");
	put(lab, "/etc/pip.conf", "[global]\nindex-url = https://m.test/\n");
	found(lab, BM_DISCOVER_PIP, "m.test:443");
	put(lab, HOME "/.config/pip/pip.conf", "[install]\nindex-url = https://r.test/\n");
	found(lab, BM_DISCOVER_PIP, "r.test:443");
	put(lab, HOME "/.config/pip/pip.conf", "[install]\nindex-url = https://i.test/simple\n");
	found(lab, BM_DISCOVER_PIP, "i.test:443 f.test:443");
}

/* Links are the image's own: where they lead on the host, nobody looks. */
static void links(void **state)
{
	struct lab *lab = *state;
	char host[128], target[160];

	snprintf(host, sizeof(host), "%s/host.list", lab->dir);
	assert_int_equal(bm_write_file(AT_FDCWD, host, O_CREAT, 0644, "deb http://host.test/ x"),
			 0);
	put(lab, "/etc/apt/sources.list.d/a.list", "deb http://a.test/ x\n");
	put_link(lab, "/etc/apt/sources.list", host);
	put_link(lab, "/etc/apt/sources.list.d/b.list", "../../../../../../../../../host.list");
	put_link(lab, "/etc/apt/sources.list.d/c.list", "/proc/self/fd/0");
	snprintf(target, sizeof(target), "../../../../host.list");
	put_link(lab, "/etc/apt/sources.list.d/d.list", target);
	put(lab, "/srv/real", "deb http://real.test/ x\n");
	put_link(lab, "/etc/apt/sources.list.d/e.list", "/srv/real");
	put_link(lab, "/etc/apt/sources.list.d/f.list", "../../../../srv/real");
	found(lab, BM_DISCOVER_APT, "a.test:80 real.test:80");

	/* A whole directory elsewhere. */
	put(lab, "/usr/lib/x", "");
	snprintf(target, sizeof(target), "%s/python3", lab->dir);
	put_link(lab, "/usr/lib/python3", target);
	not_found(lab, BM_DISCOVER_PIP, "pip: the image has no index configured");
}

static void odd_files(void **state)
{
	struct lab *lab = *state;

	put(lab, "/etc/apt/sources.list.d/a.list", "deb http://a.test/ x\n");
	assert_int_equal(mkfifo(place(lab, "/etc/apt/sources.list"), 0644), 0);
	assert_int_equal(mkdir(place(lab, "/etc/apt/sources.list.d/dir.list"), 0755), 0);
	found(lab, BM_DISCOVER_APT, "a.test:80");
	put(lab, "/etc/apt/sources.list.d/b.list", "");
	assert_int_equal(truncate(place(lab, "/etc/apt/sources.list.d/b.list"), 100 << 20), 0);
	{
		struct bm_error err;

		assert_int_equal(look(lab, BM_DISCOVER_APT, &err), -EFBIG);
		assert_non_null(strstr(err.message, "/etc/apt/sources.list.d/b.list of the image"));
	}
}

int main(void)
{
#define IN_LAB(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define OF_TEXT(test) cmocka_unit_test_setup(test, fresh)
	const struct CMUnitTest tests[] = {
		OF_TEXT(apt_list),        OF_TEXT(apt_sources),
		OF_TEXT(apt_proxies),     OF_TEXT(apt_proxies_changed),
		OF_TEXT(apt_conf_bounds), OF_TEXT(npmrc),
		OF_TEXT(npm_default),     OF_TEXT(pip_conf),
		OF_TEXT(pip_default),     OF_TEXT(bounds),
		IN_LAB(apt_tree),         IN_LAB(npm_tree),
		IN_LAB(pip_tree),         IN_LAB(links),
		IN_LAB(odd_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
