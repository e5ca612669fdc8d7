/* SPDX-License-Identifier: Apache-2.0 */
/* answer NONCE ROUNDS DEVICE...: what GPUs at these addresses answer, a line for each. For proof.t. */
#include "market/challenge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	for (int i = 3; i < argc; i++)
		printf("%" PRIu64 ":%016" PRIx64 "\n", rounds,
			challenge_answer(challenge_seed(argv[1], argv[i]), rounds));
	return argc > 3 ? 0 : 2;
}
