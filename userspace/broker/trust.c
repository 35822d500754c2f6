// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whom the upstream's certificate may come from: read once, while there still are files, and shared
 * by all connections. libcurl would take the roots of a whole system apart for each of them, which
 * is tens of milliseconds in which every other call stands still.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "broker/broker.h"

#define RULE "broker-start"
#define CA_MAX (4 * 1024 * 1024)
#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt"

static size_t add_all(X509_STORE *store, BIO *text)
{
	size_t count = 0;
	X509 *one;

	while ((one = PEM_read_bio_X509(text, NULL, NULL, NULL))) {
		count += X509_STORE_add_cert(store, one) == 1;
		X509_free(one);
	}
	ERR_clear_error();
	return count;
}

int trust_load(struct broker *broker, struct bm_error *err)
{
	const char *path = broker->definition.ca[0] ? broker->definition.ca : SYSTEM_CA;
	const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
	autofree char *text = NULL;
	size_t len, count = 0;
	BIO *bio = NULL;
	int r = bm_read_file(AT_FDCWD, path, CA_MAX, &text, &len);

	if (r < 0)
		return bm_fail_errno(err, -r, "%s", path);
	/* The store is of use to that library alone. */
	if (!curl->ssl_version || strncmp(curl->ssl_version, "OpenSSL/", 8))
		return bm_fail(err, ENOSYS, RULE, "install libcurl with OpenSSL",
			       "libcurl has no OpenSSL here");
	broker->trust = X509_STORE_new();
	if (broker->trust)
		bio = BIO_new_mem_buf(text, (int)len);
	if (bio)
		count = add_all(broker->trust, bio);
	BIO_free(bio);
	return count ? 0
		     : bm_fail(err, EBADMSG, RULE, "name a file of PEM certificates",
			       "%s: no certificate in it", path);
}

static CURLcode use(CURL *easy, void *context, void *cls)
{
	struct broker *broker = cls;

	(void)easy;
	SSL_CTX_set1_cert_store(context, broker->trust);
	return CURLE_OK;
}

CURLcode trust_use(struct broker *broker, CURL *easy)
{
	CURLcode r = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, use);

	r |= curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, broker);
	r |= curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
	return r | curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
}
