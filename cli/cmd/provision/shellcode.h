/* SPDX-License-Identifier: Apache-2.0 */
/* What of a shell script is code: not its quoted text, comments and here-documents. */
#ifndef CLI_CMD_PROVISION_SHELLCODE_H
#define CLI_CMD_PROVISION_SHELLCODE_H

/* Puts '.' in place of all that is no code; lines stay. "$(…)" within double quotes is code. */
void shellcode_only(char *text);

#endif
