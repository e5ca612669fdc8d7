/* SPDX-License-Identifier: Apache-2.0 */
/* The name of an input, for what is remembered or written down of it. */
#ifndef MARKETD_POLICY_INPUTKEY_H
#define MARKETD_POLICY_INPUTKEY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { INPUTKEY = 32, INPUTKEY_HEX = 2 * INPUTKEY + 1 };

/* SHA-256 of the input's compact JSON with sorted names, without its time. false: no memory. */
bool inputkey(const json_t *input, uint8_t key[INPUTKEY]);
void inputkey_hex(const uint8_t key[INPUTKEY], char room[INPUTKEY_HEX]);

#endif
