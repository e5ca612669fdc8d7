# daemon/units: both daemons as services of systemd, with the market's user. Below the prefix like all else: systemd
# reads /usr/local/lib, too.
units = daemon/units/nanopod-marketd.service daemon/units/nanopod-marketd-backup.service \
	daemon/units/nanopod-agentd.service
dist_units = daemon/units/nanopod-marketd-backup.timer
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
dist_sysusers_DATA = daemon/units/sysusers/nanopod-marketd.conf
dist_tmpfiles_DATA = daemon/units/tmpfiles/nanopod-marketd.conf daemon/units/tmpfiles/nanopod-agentd.conf
else
EXTRA_DIST += $(dist_units) daemon/units/sysusers/nanopod-marketd.conf daemon/units/tmpfiles/nanopod-marketd.conf \
	daemon/units/tmpfiles/nanopod-agentd.conf
endif
