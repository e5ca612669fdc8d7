/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the page for people, as they are in this program. A file's name in /assets has a sum of its contents, so
 * browsers may keep it for ever; only "/" is asked for again.
 */
#ifndef MARKETD_WEB_WEB_H
#define MARKETD_WEB_WEB_H

#include <stdbool.h>
#include <stddef.h>

#define WEB_ASSETS "/assets/"

struct web_file {
	const char *path; /* "/" or "/assets/page-0123abcd.js" */
	const char *type;
	const char *etag, *packed_etag;      /* with their quotes: the two forms differ in their bytes */
	const unsigned char *plain, *packed; /* packed: by gzip */
	size_t plain_len, packed_len;
};

extern const struct web_file web_files[]; /* made by the build; ends with { 0 } */

const struct web_file *web_find(const char *path); /* NULL: no such file */
bool web_lasts(const struct web_file *f);          /* its path changes with its contents */

/* The headers of a request, NULL where it has none. */
bool web_takes_page(const char *accept); /* at "/": a program that asks for JSON alone is no browser */
bool web_takes_gzip(const char *accept_encoding);
bool web_same(const char *if_none_match, const struct web_file *f); /* the client has it, in either form */

#endif
