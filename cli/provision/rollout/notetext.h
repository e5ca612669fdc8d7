/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of records that a rollout keeps until their note is whole: each on the heap, none longer than it may be. */
#ifndef CLI_PROVISION_ROLLOUT_NOTETEXT_H
#define CLI_PROVISION_ROLLOUT_NOTETEXT_H

#include <stdbool.h>

void notetext_drop(char **s);
/* more: as another line of the text that there is. */
void notetext_put(char **to, const char *text, bool more);
/* Adds a hint: commands of two hints must not read as one. */
void notetext_add(char **to, const char *text);

#endif
