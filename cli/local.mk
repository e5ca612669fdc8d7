# cli: the program nanopod. All but main.c is a convenience library, for the tests.
noinst_LTLIBRARIES += libcli.la
libcli_la_SOURCES = \
	cli/frame/action.c cli/frame/action.h \
	cli/local/daemons.c cli/local/daemons.h \
	cli/cmd/candidates.c cli/cmd/candidates.h \
	cli/frame/cell.c cli/frame/cell.h \
	cli/frame/command.c cli/frame/command.h \
	cli/nodes/conlog.c cli/nodes/conlog.h \
	cli/remote/connect.c cli/remote/connect.h \
	cli/remote/diff.c cli/remote/diff.h \
	cli/frame/dispatch.c \
	cli/remote/fanout.c cli/remote/fanout.h \
	cli/frame/flat.c cli/frame/flat.h \
	cli/remote/fold.c cli/remote/fold.h \
	cli/remote/group.c cli/remote/group.h \
	cli/nodes/hostnames.c cli/nodes/hostnames.h \
	cli/frame/json.c cli/frame/json.h \
	cli/provision/kubemerge.c cli/provision/kubemerge.h \
	cli/logs/loglevel.c cli/logs/loglevel.h \
	cli/logs/logmerge.c cli/logs/logmerge.h \
	cli/logs/logsource.c cli/logs/logsource.h \
	cli/logs/logtail.c cli/logs/logtail.h \
	cli/logs/logtime.c cli/logs/logtime.h \
	cli/local/localagent.c cli/local/localagent.h \
	cli/frame/localdir.c cli/frame/localdir.h \
	cli/local/localmarket.c cli/local/localmarket.h \
	cli/local/localports.c cli/local/localports.h \
	cli/local/localproc.c cli/local/localproc.h \
	cli/local/localstate.c cli/local/localstate.h \
	cli/trade/market.c cli/trade/market.h \
	cli/nodes/node.c cli/nodes/node.h \
	cli/nodes/nodewait.c cli/nodes/nodewait.h \
	cli/frame/option.c cli/frame/option.h \
	cli/frame/print.c cli/frame/print.h \
	cli/frame/progress.c cli/frame/progress.h \
	cli/frame/prompt.c cli/frame/prompt.h \
	cli/frame/rows.c cli/frame/rows.h \
	cli/remote/save.c cli/remote/save.h \
	cli/trade/scopes.c cli/trade/scopes.h \
	cli/remote/script.c cli/remote/script.h \
	cli/remote/select.c cli/remote/select.h \
	cli/frame/settings.c cli/frame/settings.h \
	cli/frame/signals.c cli/frame/signals.h \
	cli/frame/sources.c \
	cli/remote/summary.c cli/remote/summary.h \
	cli/frame/terminal.c cli/frame/terminal.h \
	cli/trade/tokenfile.c cli/trade/tokenfile.h \
	cli/frame/usage.c cli/frame/usage.h \
	cli/frame/utf8.c cli/frame/utf8.h \
	cli/frame/value.c cli/frame/value.h \
	cli/remote/view.c cli/remote/view.h
# Buying and selling.
libcli_la_SOURCES += \
	cli/cmd/bought.c cli/cmd/bought.h \
	cli/trade/buying.c cli/trade/buying.h \
	cli/trade/intent.c cli/trade/intent.h \
	cli/trade/placed.c cli/trade/placed.h \
	cli/frame/plan.c cli/frame/plan.h \
	cli/trade/purchase.c cli/trade/purchase.h \
	cli/trade/quote.c cli/trade/quote.h \
	cli/frame/remember.c cli/frame/remember.h \
	cli/trade/reservation.c cli/trade/reservation.h \
	cli/frame/retype.c cli/frame/retype.h \
	cli/trade/skus.c cli/trade/skus.h \
	cli/trade/userdata.c cli/trade/userdata.h \
	cli/trade/window.c cli/trade/window.h \
	cli/trade/wish.c cli/trade/wish.h
# Provisioning: what is wanted, what is there, and what is done about it.
libcli_la_SOURCES += \
	cli/provision/model/cluster.c cli/provision/model/cluster.h \
	cli/provision/model/cluster_hosts.c \
	cli/provision/model/cluster_parse.c \
	cli/provision/model/cluster_part.h \
	cli/provision/model/cluster_role.c \
	cli/provision/model/cluster_setting.c \
	cli/provision/model/cluster_write.c \
	cli/provision/model/clusteredit.c cli/provision/model/clusteredit.h \
	cli/provision/report/clusterlogs.c cli/provision/report/clusterlogs.h \
	cli/provision/report/display.c cli/provision/report/display.h \
	cli/provision/rollout/rollout.c cli/provision/rollout/rollout.h \
	cli/provision/rollout/rollout_apply.c \
	cli/provision/rollout/rollout_core.c \
	cli/provision/rollout/rollout_files.c \
	cli/provision/rollout/rollout_lock.c \
	cli/provision/rollout/rollout_old.c \
	cli/provision/rollout/rollout_part.h \
	cli/provision/rollout/rollout_plan.c \
	cli/provision/rollout/rollout_remove.c \
	cli/provision/rollout/rollout_script.c \
	cli/provision/rollout/rollout_step.c \
	cli/provision/rollout/rollout_verify.c \
	cli/provision/model/facts.c cli/provision/model/facts.h \
	cli/provision/model/gate.c cli/provision/model/gate.h \
	cli/provision/model/gate_alone.c \
	cli/provision/model/gate_part.h \
	cli/provision/model/gate_same.c \
	cli/provision/model/gate_say.c \
	cli/provision/model/graph.c cli/provision/model/graph.h \
	cli/provision/model/graphedge.c cli/provision/model/graphedge.h \
	cli/provision/report/joblogs.c cli/provision/report/joblogs.h \
	cli/provision/report/runlog.c cli/provision/report/runlog.h \
	cli/provision/report/liverows.c cli/provision/report/liverows.h \
	cli/provision/report/note.c cli/provision/report/note.h \
	cli/provision/report/notelist.c cli/provision/report/notelist.h \
	cli/provision/model/pairs.c cli/provision/model/pairs.h \
	cli/provision/rollout/remote.c cli/provision/rollout/remote.h \
	cli/provision/rollout/remote_job.c cli/provision/rollout/remote_job.h \
	cli/provision/rollout/remote_wire.c cli/provision/rollout/remote_wire.h \
	cli/provision/model/stack.c cli/provision/model/stack.h \
	cli/provision/model/stack_part.c cli/provision/model/stack_part.h \
	cli/provision/model/stack_read.c \
	cli/provision/model/stack_step.c \
	cli/provision/model/stack_value.c cli/provision/model/stack_value.h \
	cli/provision/report/steplogs.c \
	cli/provision/rollout/sudoask.c cli/provision/rollout/sudoask.h \
	cli/provision/rollout/uploadid.c cli/provision/rollout/uploadid.h
# (provisioning ends here)
libcli_la_LIBADD = libconf.la libmarket.la libbase.la

bin_PROGRAMS += nanopod
nanopod_SOURCES = \
	cli/main.c \
	cli/cmd/admin/admin.c cli/cmd/admin/admin.h \
	cli/cmd/admin/admin_hosts.c \
	cli/cmd/admin/admin_part.c \
	cli/cmd/api.c \
	cli/cmd/balance.c \
	cli/cmd/burn.c \
	cli/cmd/buy.c \
	cli/cmd/cancel.c \
	cli/cmd/console.c \
	cli/cmd/events.c \
	cli/cmd/extend.c \
	cli/cmd/host/host.c cli/cmd/host/host.h \
	cli/cmd/host/host_agent.c \
	cli/cmd/host/host_join.c \
	cli/cmd/host/host_market.c \
	cli/cmd/ledger.c \
	cli/cmd/local.c \
	cli/cmd/login.c \
	cli/cmd/nodes.c \
	cli/cmd/logs.c \
	cli/cmd/orders.c \
	cli/cmd/kubeconfig.c \
	cli/cmd/price.c \
	cli/cmd/provision/provision.c cli/cmd/provision/provision.h \
	cli/cmd/provision/provision_call.c \
	cli/cmd/provision/provision_file.c \
	cli/cmd/provision/provision_go.c \
	cli/cmd/provision/provision_init.c \
	cli/cmd/provision/provision_list.c \
	cli/cmd/provision/provision_nodes.c \
	cli/cmd/provision/provision_remove.c \
	cli/cmd/provision/provision_upgrade.c \
	cli/cmd/release.c \
	cli/cmd/replace.c \
	cli/cmd/reservations.c \
	cli/cmd/sell.c \
	cli/cmd/show.c \
	cli/cmd/token.c \
	cli/cmd/tunnel.c \
	cli/cmd/types.c \
	cli/cmd/whoami.c \
	cli/cmd/complete.c \
	cli/cmd/completion.c \
	cli/cmd/config.c \
	cli/cmd/cp.c \
	cli/cmd/doctor.c \
	cli/cmd/help.c \
	cli/cmd/hosts.c \
	cli/cmd/run.c \
	cli/cmd/shell.c \
	cli/cmd/ssh.c \
	cli/cmd/version.c
nodist_nanopod_SOURCES = cli/scripts.h
nanopod_CPPFLAGS = $(AM_CPPFLAGS) -I. $(READLINE_CFLAGS)
nanopod_LDADD = libcli.la libpssh.la $(READLINE_LIBS)
nanopod_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)
cli/cmd/nanopod-completion.$(OBJEXT): cli/scripts.h

# The completion scripts as C, so that the program prints what is installed.
completion_scripts = bash:nanopod.bash zsh:_nanopod fish:nanopod.fish
BUILT_SOURCES += cli/scripts.h
CLEANFILES += cli/scripts.h
cli/scripts.h: completions/nanopod.bash completions/_nanopod completions/nanopod.fish
	@$(MKDIR_P) cli
	$(AM_V_GEN)for shell in $(completion_scripts); do \
		echo "static const char script_$${shell%%:*}[] ="; \
		sed 's/[\\"]/\\&/g; s/.*/	"&\\n"/' $(srcdir)/completions/$${shell#*:}; \
		echo '	;'; \
	done >$@.new && mv $@.new $@
