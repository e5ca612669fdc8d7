# daemon/units: both daemons as services of systemd, with their users. Below the prefix like all else: systemd
# reads /usr/local/lib, too.
units = daemon/units/nanopod-marketd.service daemon/units/nanopod-marketd-backup.service \
	daemon/units/nanopod-agentd.service
dist_units = daemon/units/nanopod-marketd-backup.timer
dist_users = daemon/units/sysusers/nanopod-marketd.conf daemon/units/sysusers/nanopod-agentd.conf
EXTRA_DIST += $(units:=.in) daemon/units/etc/marketd.conf daemon/units/etc/agentd.conf
CLEANFILES += $(units)

$(units): %: %.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's,[@]sbindir[@],$(sbindir),g' $(srcdir)/$*.in >$@.new && mv $@.new $@

systemdunitdir = $(systemdsystemunitdir)
sysusersdir = $(systemdsysusersdir)
tmpfilesdir = $(systemdtmpfilesdir)
if SYSTEMD
systemdunit_DATA = $(units)
dist_systemdunit_DATA = $(dist_units)
dist_sysusers_DATA = $(dist_users)
dist_tmpfiles_DATA = daemon/units/tmpfiles/nanopod-marketd.conf daemon/units/tmpfiles/nanopod-agentd.conf
else
EXTRA_DIST += $(dist_units) $(dist_users) daemon/units/tmpfiles/nanopod-marketd.conf \
	daemon/units/tmpfiles/nanopod-agentd.conf
endif
