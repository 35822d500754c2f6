// SPDX-License-Identifier: GPL-2.0-only
/* One harmless call, to see whether a definition, its credential and its upstream fit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/broker.h"

static size_t ignore(char *data, size_t size, size_t count, void *cls)
{
	(void)data;
	(void)cls;
	return size * count;
}

static void add_query(const struct bm_broker_route *route, char *url, size_t size)
{
	for (size_t i = 0; i < route->query_count; i++) {
		size_t at = strlen(url);

		snprintf(url + at, size - at, "%c%s", i ? '&' : '?', route->query[i]);
	}
}

static int told(struct broker *broker, CURL *easy, struct bm_error *err)
{
	autojson *json = json_object_new_object();
	struct json_object *it = json_object_new_object();
	const char *address = NULL;
	curl_off_t us = 0;
	long status = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &address);
	curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &us);
	bm_json_add_int(it, "status", status);
	bm_json_add_string(it, "address", address ?: "");
	bm_json_add_int(it, "ms", us / 1000);
	bm_json_add(json, "verified", it);
	if (status == 401 || (status == 403 && broker->definition.verify_status != 403))
		return bm_fail(err, EACCES, "broker-verify", "put another credential there",
			       "%s does not take the credential: status %ld",
			       broker->definition.host, status);
	if (status != broker->definition.verify_status)
		return bm_fail(err, EPROTO, "broker-verify", "compare its definition",
			       "%s answers %s with status %ld, not %u", broker->definition.host,
			       broker->definition.verify.path, status,
			       broker->definition.verify_status);
	return control_tell(json);
}

int verify_run(struct broker *broker, struct bm_error *err)
{
	const struct bm_broker_route *route = &broker->definition.verify;
	char url[BM_HOSTNAME_LEN + 64 + BM_BROKER_PATH + BM_BROKER_QUERY * BM_BROKER_WORD];
	struct curl_slist *headers = curl_slist_append(NULL, "Accept-Encoding: identity");
	CURL *easy = curl_easy_init();
	CURLcode r;
	int result;

	if (!easy || !headers || !curl_slist_append(headers, broker->header) ||
	    upstream_prepare(broker, easy) < 0)
		return bm_fail_errno(err, ENOMEM, "libcurl");
	snprintf(url, sizeof(url), "%s%s", broker->origin, route->path);
	add_query(route, url, sizeof(url));
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 30000L);
	if (!strcmp(route->method, "HEAD"))
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	r = curl_easy_perform(easy);
	if (r == CURLE_PEER_FAILED_VERIFICATION || r == CURLE_SSL_CONNECT_ERROR)
		result = bm_fail(err, EKEYREJECTED, "broker-verify",
				 "name its CA in the definition as \"ca\", if it is meant",
				 "TLS with %s: %s", broker->definition.host, curl_easy_strerror(r));
	else if (r)
		result = bm_fail(err, EHOSTUNREACH, "broker-verify",
				 "look whether it can be reached from here", "%s: %s",
				 broker->definition.host, curl_easy_strerror(r));
	else
		result = told(broker, easy, err);
	curl_slist_free_all(headers);
	curl_easy_cleanup(easy);
	return result;
}
