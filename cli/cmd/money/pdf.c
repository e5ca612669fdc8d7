/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Characters outside of ASCII get codes as they come, 128 a font, with the names that Adobe gave their glyphs; Chinese,
 * Japanese and Korean ones come from the reader's own font. Each font says which characters its codes are, so that a
 * text that is copied or searched has them all, whatever the reader can draw.
 */
#include "cli/cmd/money/pdf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/frame/command.h"

enum {
	PDF_FILE_MAX = 256 << 20,
	PDF_SET = 128,       /* characters of a font beside ASCII */
	PDF_OTHERS = 1024,   /* in all; more become '?' */
	PDF_HAN = 0x2e80,    /* from here on the reader's own font has them */
	PDF_OBJECTS = 16384, /* pages have two each */
	PDF_FIRST = 4        /* objects before: catalogue, pages, title */
};

struct pdf {
	struct buf *pages;
	size_t count, cap;
	uint32_t others[PDF_OTHERS];
	size_t other_count;
	bool han;
};

/* Of the characters from ' ' to '~', in thousandths of the size. */
static const int16_t pdf_widths[2][95] = {
	{ 278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556,
		556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
		500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
		556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
		278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584 },
	{ 278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556,
		556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556,
		722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556,
		333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333,
		611, 556, 778, 556, 556, 500, 389, 280, 389, 584 },
};

/* U+00A1 to U+017F. */
static const char *const pdf_glyphs[] = { "exclamdown", "cent", "sterling", "currency", "yen", "brokenbar", "section",
	"dieresis", "copyright", "ordfeminine", "guillemotleft", "logicalnot", "hyphen", "registered", "macron",
	"degree", "plusminus", "twosuperior", "threesuperior", "acute", "mu", "paragraph", "periodcentered", "cedilla",
	"onesuperior", "ordmasculine", "guillemotright", "onequarter", "onehalf", "threequarters", "questiondown",
	"Agrave", "Aacute", "Acircumflex", "Atilde", "Adieresis", "Aring", "AE", "Ccedilla", "Egrave", "Eacute",
	"Ecircumflex", "Edieresis", "Igrave", "Iacute", "Icircumflex", "Idieresis", "Eth", "Ntilde", "Ograve", "Oacute",
	"Ocircumflex", "Otilde", "Odieresis", "multiply", "Oslash", "Ugrave", "Uacute", "Ucircumflex", "Udieresis",
	"Yacute", "Thorn", "germandbls", "agrave", "aacute", "acircumflex", "atilde", "adieresis", "aring", "ae",
	"ccedilla", "egrave", "eacute", "ecircumflex", "edieresis", "igrave", "iacute", "icircumflex", "idieresis",
	"eth", "ntilde", "ograve", "oacute", "ocircumflex", "otilde", "odieresis", "divide", "oslash", "ugrave",
	"uacute", "ucircumflex", "udieresis", "yacute", "thorn", "ydieresis", "Amacron", "amacron", "Abreve", "abreve",
	"Aogonek", "aogonek", "Cacute", "cacute", "Ccircumflex", "ccircumflex", "Cdotaccent", "cdotaccent", "Ccaron",
	"ccaron", "Dcaron", "dcaron", "Dcroat", "dcroat", "Emacron", "emacron", "Ebreve", "ebreve", "Edotaccent",
	"edotaccent", "Eogonek", "eogonek", "Ecaron", "ecaron", "Gcircumflex", "gcircumflex", "Gbreve", "gbreve",
	"Gdotaccent", "gdotaccent", "Gcommaaccent", "gcommaaccent", "Hcircumflex", "hcircumflex", "Hbar", "hbar",
	"Itilde", "itilde", "Imacron", "imacron", "Ibreve", "ibreve", "Iogonek", "iogonek", "Idotaccent", "dotlessi",
	"IJ", "ij", "Jcircumflex", "jcircumflex", "Kcommaaccent", "kcommaaccent", "kgreenlandic", "Lacute", "lacute",
	"Lcommaaccent", "lcommaaccent", "Lcaron", "lcaron", "Ldot", "ldot", "Lslash", "lslash", "Nacute", "nacute",
	"Ncommaaccent", "ncommaaccent", "Ncaron", "ncaron", "napostrophe", "Eng", "eng", "Omacron", "omacron", "Obreve",
	"obreve", "Ohungarumlaut", "ohungarumlaut", "OE", "oe", "Racute", "racute", "Rcommaaccent", "rcommaaccent",
	"Rcaron", "rcaron", "Sacute", "sacute", "Scircumflex", "scircumflex", "Scedilla", "scedilla", "Scaron",
	"scaron", "Tcommaaccent", "tcommaaccent", "Tcaron", "tcaron", "Tbar", "tbar", "Utilde", "utilde", "Umacron",
	"umacron", "Ubreve", "ubreve", "Uring", "uring", "Uhungarumlaut", "uhungarumlaut", "Uogonek", "uogonek",
	"Wcircumflex", "wcircumflex", "Ycircumflex", "ycircumflex", "Ydieresis", "Zacute", "zacute", "Zdotaccent",
	"zdotaccent", "Zcaron", "zcaron", "longs" };

/* U+0386 to U+03CE. The names Delta and Omega are of other signs: an increment and an ohm. */
static const char *const pdf_greek[] = { "Alphatonos", "anoteleia", "Epsilontonos", "Etatonos", "Iotatonos", NULL,
	"Omicrontonos", NULL, "Upsilontonos", "Omegatonos", "iotadieresistonos", "Alpha", "Beta", "Gamma", NULL,
	"Epsilon", "Zeta", "Eta", "Theta", "Iota", "Kappa", "Lambda", "Mu", "Nu", "Xi", "Omicron", "Pi", "Rho", NULL,
	"Sigma", "Tau", "Upsilon", "Phi", "Chi", "Psi", NULL, "Iotadieresis", "Upsilondieresis", "alphatonos",
	"epsilontonos", "etatonos", "iotatonos", "upsilondieresistonos", "alpha", "beta", "gamma", "delta", "epsilon",
	"zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma1", "sigma",
	"tau", "upsilon", "phi", "chi", "psi", "omega", "iotadieresis", "upsilondieresis", "omicrontonos",
	"upsilontonos", "omegatonos" };

enum { PDF_GREEK_FIRST = 0x386, PDF_GREEKS = sizeof pdf_greek / sizeof *pdf_greek };
enum { PDF_GLYPH_FIRST = 0xa1, PDF_GLYPHS = sizeof pdf_glyphs / sizeof *pdf_glyphs };

/* ---- Characters ------------------------------------------------------------------------------- */

/* The character at s, and where the next begins. */
static uint32_t pdf_char(const char **s, const char *end)
{
	size_t len = utf8_printable(*s, (size_t)(end - *s));
	const unsigned char *p = (const unsigned char *)*s;
	uint32_t c = '?';

	if (len == 1)
		c = p[0];
	else if (len == 2)
		c = (uint32_t)(p[0] & 31) << 6 | (p[1] & 63);
	else if (len == 3)
		c = (uint32_t)(p[0] & 15) << 12 | (uint32_t)(p[1] & 63) << 6 | (p[2] & 63);
	*s += len ? len : 1;
	return c; /* what takes four bytes, no font of a reader has */
}

static const char *pdf_glyph(uint32_t c, char room[16])
{
	if (c >= PDF_GLYPH_FIRST && c < PDF_GLYPH_FIRST + PDF_GLYPHS)
		return pdf_glyphs[c - PDF_GLYPH_FIRST];
	if (c >= PDF_GREEK_FIRST && c < PDF_GREEK_FIRST + PDF_GREEKS && pdf_greek[c - PDF_GREEK_FIRST])
		return pdf_greek[c - PDF_GREEK_FIRST];
	if (c == 0xa0)
		return "space";
	if (c >= 0x410 && c <= 0x44f) /* Russian: in order, but for the place that YO has after IE */
		snprintf(room, 16, "afii%u", (c < 0x430 ? 10017 - 0x410 : 10065 - 0x430) + c + ((c - 0x410) % 32 > 5));
	else
		snprintf(room, 16, "uni%04X", c);
	return room;
}

static int pdf_advance(uint32_t c, bool bold)
{
	char room[16];
	const char *name;

	if (c >= PDF_HAN)
		return 1000;
	if (c >= ' ' && c <= '~')
		return pdf_widths[bold][c - ' '];
	if (c < 0xc0 || c >= PDF_GLYPH_FIRST + PDF_GLYPHS)
		return c < 0x300 ? 556 : 600;
	name = pdf_glyph(c, room); /* letters with an accent begin with the letter */
	return pdf_widths[bold][name[0] - ' '];
}

/* The number of one outside of ASCII; PDF_OTHERS: there are too many. */
static size_t pdf_other(struct pdf *p, uint32_t c)
{
	for (size_t i = 0; i < p->other_count; i++)
		if (p->others[i] == c)
			return i;
	if (p->other_count == PDF_OTHERS)
		return PDF_OTHERS;
	p->others[p->other_count] = c;
	return p->other_count++;
}

/* ---- Pages ------------------------------------------------------------------------------------ */

struct pdf *pdf_new(void)
{
	struct pdf *p = calloc(1, sizeof *p);

	if (!p)
		command_nomem();
	return p;
}

void pdf_free(struct pdf *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		buf_release(&p->pages[i]);
	free(p->pages);
	free(p);
}

size_t pdf_page(struct pdf *p)
{
	if (p->count == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 8;
		p->pages = reallocarray(p->pages, p->cap, sizeof *p->pages);
		if (!p->pages)
			command_nomem();
	}
	buf_init(&p->pages[p->count], PDF_FILE_MAX);
	return p->count++;
}

size_t pdf_pages(const struct pdf *p)
{
	return p->count;
}

void pdf_text(struct pdf *p, size_t page, int x, int y, int size, bool bold, const char *text)
{
	const char *end = text + strlen(text);
	struct buf *b = &p->pages[page];
	int font = -1; /* 'F' fonts by number, -2: the reader's own */

	buf_addf(b, "BT %d.%d %d.%d Td", x / 10, x % 10, y / 10, y % 10);
	while (text < end) {
		uint32_t c = pdf_char(&text, end);
		size_t other = c > '~' && c < PDF_HAN ? pdf_other(p, c) : 0;
		int wants = c >= PDF_HAN ? -2 : c > '~' || font < 0 ? (int)(other / PDF_SET * 2) + bold : font;

		if (other == PDF_OTHERS) {
			c = '?';
			wants = bold;
		}
		if (wants != font) {
			buf_adds(b, font == -1 ? "" : "> Tj");
			if (wants == -2)
				buf_addf(b, " /H %d Tf <", size);
			else
				buf_addf(b, " /F%d %d Tf <", wants, size);
		}
		p->han |= wants == -2;
		font = wants;
		buf_addf(b, c >= PDF_HAN ? "%04X" : "%02X",
			c > '~' && c < PDF_HAN ? PDF_SET + (unsigned)other % PDF_SET : c);
	}
	buf_adds(b, font == -1 ? " ET\n" : "> Tj ET\n");
}

void pdf_line(struct pdf *p, size_t page, int x, int y, int to_x)
{
	buf_addf(&p->pages[page], "0.5 w %d.%d %d.%d m %d.%d %d.%d l S\n", x / 10, x % 10, y / 10, y % 10, to_x / 10,
		to_x % 10, y / 10, y % 10);
}

int pdf_width(const char *text, size_t len, int size, bool bold)
{
	const char *end = text + len;
	int64_t sum = 0;

	while (text < end && sum < INT32_MAX / 10)
		sum += pdf_advance(pdf_char(&text, end), bold) * size;
	return (int)((sum + 99) / 100);
}

size_t pdf_wrap(const char *text, int width, int size, bool bold, size_t *skip)
{
	const char *end = text + strlen(text), *at = text, *blank = NULL;

	while (at < end) {
		const char *next = at;
		uint32_t c = pdf_char(&next, end);

		if (at > text && pdf_width(text, (size_t)(next - text), size, bold) > width) {
			*skip = (size_t)(blank ? blank + 1 - text : at - text);
			return (size_t)((blank ? blank : at) - text);
		}
		blank = c == ' ' && at > text ? at : blank;
		at = next;
	}
	*skip = (size_t)(end - text);
	return *skip;
}

/* ---- The file --------------------------------------------------------------------------------- */

struct pdf_objects {
	struct buf *out;
	size_t at[PDF_OBJECTS], count; /* where each begins; the first has number 1 */
};

static size_t pdf_object(struct pdf_objects *o)
{
	if (o->count == PDF_OBJECTS - 1)
		command_nomem();
	o->at[o->count++] = o->out->len;
	buf_addf(o->out, "%zu 0 obj\n", o->count);
	return o->count;
}

static void pdf_stream(struct pdf_objects *o, const struct buf *text)
{
	pdf_object(o);
	buf_addf(o->out, "<< /Length %zu >>\nstream\n", text->len);
	buf_add(o->out, buf_text(text), text->len);
	buf_adds(o->out, "\nendstream\nendobj\n");
}

/* Which characters the codes are. set SIZE_MAX: two bytes each, as they are. */
static void pdf_unicode(const struct pdf *p, struct pdf_objects *o, size_t set)
{
	bool han = set == SIZE_MAX;
	struct buf b;

	buf_init(&b, PDF_FILE_MAX);
	buf_addf(&b,
		"/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /nanopod def\n"
		"/CMapType 2 def\n1 begincodespacerange\n%s\nendcodespacerange\n1 beginbfrange\n%s\nendbfrange\n",
		han ? "<0000> <FFFF>" : "<00> <FF>", han ? "<0000> <FFFF> <0000>" : "<20> <7E> <0020>");
	for (size_t i = han ? p->other_count : set * PDF_SET; i < p->other_count && i < (set + 1) * PDF_SET; i++)
		buf_addf(&b, "1 beginbfchar\n<%02X> <%04X>\nendbfchar\n", PDF_SET + (unsigned)(i % PDF_SET),
			p->others[i]);
	buf_adds(&b, "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend");
	pdf_stream(o, &b);
	buf_release(&b);
}

static void pdf_font(const struct pdf *p, struct pdf_objects *o, size_t set, bool bold, size_t unicode)
{
	char room[16];

	pdf_object(o);
	buf_addf(o->out,
		"<< /Type /FontDescriptor /FontName /Arial%s /Flags 32 /FontBBox [-665 -325 2000 1006]\n"
		"/ItalicAngle 0 /Ascent 905 /Descent -212 /CapHeight 716 /StemV %d >>\nendobj\n",
		bold ? "-BoldMT" : "MT", bold ? 138 : 80);
	pdf_object(o);
	buf_addf(o->out,
		"<< /Type /Font /Subtype /TrueType /BaseFont /Arial%s /FontDescriptor %zu 0 R /FirstChar 32 /LastChar "
		"255\n"
		"/Widths [",
		bold ? "-BoldMT" : "MT", o->count - 1);
	for (unsigned c = 32; c < 256; c++) {
		size_t other = set * PDF_SET + c % PDF_SET;

		buf_addf(o->out, "%d ",
			c <= '~'                                         ? pdf_advance(c, bold)
				: c >= PDF_SET && other < p->other_count ? pdf_advance(p->others[other], bold)
									 : 0);
	}
	buf_addf(o->out, "]\n/ToUnicode %zu 0 R /Encoding << /Type /Encoding /BaseEncoding /WinAnsiEncoding", unicode);
	if (p->other_count > set * PDF_SET)
		buf_adds(o->out, "\n/Differences [128");
	for (size_t i = set * PDF_SET; i < p->other_count && i < (set + 1) * PDF_SET; i++)
		buf_addf(o->out, " /%s", pdf_glyph(p->others[i], room));
	buf_addf(o->out, "%s >> >>\nendobj\n", p->other_count > set * PDF_SET ? "]" : "");
}

/* The number of the font that the reader has of its own. */
static size_t pdf_han(const struct pdf *p, struct pdf_objects *o)
{
	size_t unicode = o->count + 1, descriptor = unicode + 1, cid = unicode + 2;

	pdf_unicode(p, o, SIZE_MAX);
	pdf_object(o);
	buf_adds(o->out,
		"<< /Type /FontDescriptor /FontName /STSong-Light /Flags 6 /FontBBox [-25 -254 1000 880]\n"
		"/ItalicAngle 0 /Ascent 880 /Descent -120 /CapHeight 880 /StemV 93 >>\nendobj\n");
	pdf_object(o);
	buf_addf(o->out,
		"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /DW 1000 /FontDescriptor %zu 0 R\n"
		"/CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> >>\nendobj\n",
		descriptor);
	pdf_object(o);
	buf_addf(o->out,
		"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light-UniGB-UCS2-H /Encoding /UniGB-UCS2-H\n"
		"/DescendantFonts [%zu 0 R] /ToUnicode %zu 0 R >>\nendobj\n",
		cid, unicode);
	return o->count;
}

/* All fonts, and what each page says of them. */
static void pdf_fonts(const struct pdf *p, struct pdf_objects *o, struct buf *names)
{
	for (size_t set = 0; set == 0 || set * PDF_SET < p->other_count; set++) {
		size_t unicode = o->count + 1;

		pdf_unicode(p, o, set);
		for (int bold = 0; bold < 2; bold++) {
			pdf_font(p, o, set, bold, unicode);
			buf_addf(names, " /F%zu %zu 0 R", set * 2 + (size_t)bold, o->count);
		}
	}
	if (p->han)
		buf_addf(names, " /H %zu 0 R", pdf_han(p, o));
}

static void pdf_leaf(const struct pdf *p, struct pdf_objects *o, size_t page, const char *fonts)
{
	pdf_stream(o, &p->pages[page]);
	pdf_object(o);
	buf_addf(o->out,
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d.%d %d.%d] /Contents %zu 0 R\n"
		"/Resources << /Font <<%s >> >> >>\nendobj\n",
		PDF_A4_WIDTH / 10, PDF_A4_WIDTH % 10, PDF_A4_HEIGHT / 10, PDF_A4_HEIGHT % 10, o->count - 1, fonts);
}

/* The pages are the last objects, two each. */
static void pdf_tree(const struct pdf *p, struct pdf_objects *o, size_t fonts)
{
	pdf_object(o);
	buf_adds(o->out, "<< /Type /Pages /Kids [");
	for (size_t i = 0; i < p->count; i++)
		buf_addf(o->out, "%s%zu 0 R", i ? " " : "", PDF_FIRST - 1 + fonts + 2 * i + 2);
	buf_addf(o->out, "] /Count %zu >>\nendobj\n", p->count);
}

void pdf_end(const struct pdf *p, const char *title, struct buf *out)
{
	struct pdf_objects *o = calloc(1, sizeof *o);
	size_t sets = p->other_count ? (p->other_count + PDF_SET - 1) / PDF_SET : 1, start;
	struct buf fonts;

	if (!o)
		command_nomem();
	o->out = out;
	buf_init(&fonts, 4096);
	buf_adds(out, "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n");
	pdf_object(o);
	buf_adds(out,
		"<< /Type /Catalog /Pages 2 0 R /Lang (en) /ViewerPreferences << /DisplayDocTitle true >> "
		">>\nendobj\n");
	pdf_tree(p, o, 5 * sets + (p->han ? 4 : 0));
	pdf_object(o);
	buf_addf(out, "<< /Title (%s) /Producer (nanopod) >>\nendobj\n", title);
	pdf_fonts(p, o, &fonts);
	for (size_t i = 0; i < p->count; i++)
		pdf_leaf(p, o, i, buf_text(&fonts));
	start = out->len;
	buf_addf(out, "xref\n0 %zu\n0000000000 65535 f \n", o->count + 1);
	for (size_t i = 0; i < o->count; i++)
		buf_addf(out, "%010zu 00000 n \n", o->at[i]);
	if (buf_addf(out, "trailer\n<< /Size %zu /Root 1 0 R /Info 3 0 R >>\nstartxref\n%zu\n%%%%EOF\n", o->count + 1,
		    start))
		command_nomem();
	buf_release(&fonts);
	free(o);
}
