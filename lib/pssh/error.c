/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, names and retryability of the codes, all from the one list PSSH_ERRORS. */
#include "pssh/pssh.h"

static const struct {
	int code, retryable;
	const char *name, *text;
} errors[] = {
#define ROW(name, code, text, retryable) { code, retryable, #name, text },
	PSSH_ERRORS(ROW)
#undef ROW
};

static int error_find(int code)
{
	for (int i = 0; i < (int)(sizeof errors / sizeof *errors); i++)
		if (errors[i].code == code)
			return i;
	return -1;
}

const char *pssh_strerror(int code)
{
	int i = error_find(code);

	return i >= 0 ? errors[i].text : code == 0 ? "no error" : "an unknown error";
}

const char *pssh_errname(int code)
{
	int i = error_find(code);

	return i >= 0 ? errors[i].name : code == 0 ? "PSSH_OK" : "PSSH_E?";
}

int pssh_retryable(int code)
{
	int i = error_find(code);

	return i >= 0 && errors[i].retryable;
}
