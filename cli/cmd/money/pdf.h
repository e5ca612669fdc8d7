/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of text and lines as PDF 1.4, with the fonts that every reader has. Nothing in it depends on the time or the
 * machine. Lengths are tenths of a point (1/720 inch), from the lower left corner of a page.
 */
#ifndef CLI_CMD_MONEY_PDF_H
#define CLI_CMD_MONEY_PDF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { PDF_A4_WIDTH = 5953, PDF_A4_HEIGHT = 8419 };

struct pdf;

struct pdf *pdf_new(void);
void pdf_free(struct pdf *p);

size_t pdf_page(struct pdf *p); /* A further page; its number, from 0 */
size_t pdf_pages(const struct pdf *p);

/* UTF-8; size in points. What no reader should get, such as a control character, becomes '?'. */
void pdf_text(struct pdf *p, size_t page, int x, int y, int size, bool bold, const char *text);
void pdf_line(struct pdf *p, size_t page, int x, int y, int to_x);
int pdf_width(const char *text, size_t len, int size, bool bold);
/* How much of the text fits, at a blank where there is one; *skip: where the rest begins. */
size_t pdf_wrap(const char *text, int width, int size, bool bold, size_t *skip);

/* The whole file. title: ASCII. */
void pdf_end(const struct pdf *p, const char *title, struct buf *out);

#endif
