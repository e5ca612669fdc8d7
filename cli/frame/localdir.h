/* SPDX-License-Identifier: Apache-2.0 */
/* Where `nanopod local` keeps all that it has: ~/.local/share/nanopod/local, or below XDG_DATA_HOME. */
#ifndef CLI_FRAME_LOCALDIR_H
#define CLI_FRAME_LOCALDIR_H

/* The path of what has this name there; "" for the folder itself. malloc'd, or NULL where there is no home. */
char *localdir_path(const char *name);

#endif
