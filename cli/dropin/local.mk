# cli/dropin: other tools' names, options, output and exit statuses over cli/remote.
nanopod_SOURCES += \
	cli/dropin/clush.c \
	cli/dropin/clushshow.c \
	cli/dropin/clushshow.h \
	cli/dropin/dropgroups.c \
	cli/dropin/dropgroups.h \
	cli/dropin/drophosts.c \
	cli/dropin/drophosts.h \
	cli/dropin/dropin.c \
	cli/dropin/dropin.h \
	cli/dropin/droprun.c \
	cli/dropin/droprun.h \
	cli/dropin/dropssh.c \
	cli/dropin/dropssh.h \
	cli/dropin/pdsh.c \
	cli/dropin/parallel_ssh.c
