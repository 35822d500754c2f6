/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps the credential out of what the Bench is given. Found are the credential itself, its base64
 * (both alphabets, whatever stands before it) and its hex digits, each byte of them plain, as %XX
 * or as in a JSON string, however the stream is cut. It is overwritten by '*', so that lengths
 * stay.
 */
#ifndef BENCHMON_BROKER_ECHO_H
#define BENCHMON_BROKER_ECHO_H

#include <stddef.h>
#include <stdint.h>

#include "broker/buffer.h"

#define ECHO_SECRET_MIN 8
#define ECHO_SECRET_MAX 4096

struct echo;
struct echo_stream;

/* -EINVAL for one that is too short or too long to look for. */
int echo_new(const char *secret, size_t len, struct echo **ret);
void echo_free(struct echo *echo);

int echo_stream_new(const struct echo *echo, struct echo_stream **ret);
void echo_stream_free(struct echo_stream *stream);
/*
 * Appends to out what can be given: all but an end that the credential could begin with. -ENOMEM,
 * -E2BIG: nothing more may be given.
 */
int echo_feed(struct echo_stream *stream, const char *data, size_t len, struct buffer *out);
/* The end: what was held back is no credential. */
int echo_finish(struct echo_stream *stream, struct buffer *out);
/* How often it was found. */
uint64_t echo_found(const struct echo_stream *stream);
/* The same of a text that is all there, in place; how often, or -ENOMEM. */
int echo_text(const struct echo *echo, char *text, size_t len);

#endif
