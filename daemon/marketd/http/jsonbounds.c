/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/http/jsonbounds.h"

bool json_bounded(const char *text, size_t len, int depth, size_t values)
{
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		if (quoted) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				quoted = false;
		} else if (text[i] == '"') {
			quoted = true;
		} else if (text[i] == '[' || text[i] == '{' || text[i] == ',') {
			if (!values-- || (text[i] != ',' && !depth--))
				return false;
		} else if (text[i] == ']' || text[i] == '}') {
			depth++;
		}
	}
	return true;
}
