/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod: the only file that names the commands. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/command.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"

extern const struct command cmd_price, cmd_buy, cmd_extend, cmd_sell, cmd_release, cmd_cancel, cmd_procurement,
	cmd_reservations, cmd_orders, cmd_show, cmd_wait;
extern const struct command cmd_volume;
extern const struct command cmd_types, cmd_balance, cmd_topup, cmd_plan, cmd_payout, cmd_grants, cmd_burn, cmd_ledger,
	cmd_report, cmd_statement, cmd_invoice, cmd_events, cmd_api;
extern const struct command cmd_login, cmd_logout, cmd_whoami, cmd_people, cmd_invite, cmd_personhood;
extern const struct command cmd_token, cmd_audit;
extern const struct command cmd_admin, cmd_host;
extern const struct command cmd_provision, cmd_autoscale, cmd_kubeconfig;
extern const struct command cmd_nodes, cmd_top, cmd_alerts, cmd_tunnel, cmd_console, cmd_replace, cmd_local;
extern const struct command cmd_run, cmd_ssh, cmd_cp, cmd_logs, cmd_hosts, cmd_shell, cmd_keep, cmd_gateway;
extern const struct command cmd_ssh_config, cmd_inventory;
extern const struct command cmd_pdsh, cmd_pdcp, cmd_rpdcp, cmd_clush, cmd_pssh, cmd_pscp;
extern const struct command cmd_config, cmd_doctor, cmd_completion, cmd_complete, cmd_help, cmd_version;

static const struct command *const commands[] = {
	&cmd_price,
	&cmd_buy,
	&cmd_extend,
	&cmd_sell,
	&cmd_release,
	&cmd_procurement,
	&cmd_cancel,
	&cmd_reservations,
	&cmd_orders,
	&cmd_show,
	&cmd_wait,
	&cmd_volume,
	&cmd_types,
	&cmd_events,
	&cmd_api,
	&cmd_login,
	&cmd_logout,
	&cmd_whoami,
	&cmd_people,
	&cmd_invite,
	&cmd_personhood,
	&cmd_token,
	&cmd_audit,
	&cmd_balance,
	&cmd_topup,
	&cmd_plan,
	&cmd_payout,
	&cmd_grants,
	&cmd_burn,
	&cmd_ledger,
	&cmd_report,
	&cmd_statement,
	&cmd_invoice,
	&cmd_nodes,
	&cmd_top,
	&cmd_alerts,
	&cmd_run,
	&cmd_ssh,
	&cmd_cp,
	&cmd_logs,
	&cmd_tunnel,
	&cmd_console,
	&cmd_replace,
	&cmd_hosts,
	&cmd_keep,
	&cmd_shell,
	&cmd_ssh_config,
	&cmd_inventory,
	&cmd_provision,
	&cmd_autoscale,
	&cmd_kubeconfig,
	&cmd_local,
	&cmd_host,
	&cmd_admin,
	&cmd_config,
	&cmd_doctor,
	&cmd_completion,
	&cmd_complete,
	&cmd_gateway,
	&cmd_pdsh,
	&cmd_pdcp,
	&cmd_rpdcp,
	&cmd_clush,
	&cmd_pssh,
	&cmd_pscp,
	&cmd_help,
	&cmd_version,
	NULL,
};

/* In the order of the list above; each ends where the next begins. */
static const struct command_group groups[] = {
	{ "Market", &cmd_price },
	{ "Account", &cmd_login },
	{ "Money", &cmd_balance },
	{ "Work", &cmd_nodes },
	{ "Clusters", &cmd_provision },
	{ "Operate", &cmd_local },
	{ 0 },
};

/* Opens a closed standard stream, so that no file opened later takes its place. Writing there fails. */
static void hold_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			_exit(STATUS_FAILURE);
}

/* Called by the name of a tool whose place it takes: then that name is the command's. */
static bool main_is_dropin(const struct nanopod *np, const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const struct command *cmd = command_find(np, name);

	return cmd && cmd->flags & COMMAND_DROPIN;
}

int main(int argc, char **argv)
{
	struct nanopod np = { .commands = commands, .groups = groups, .out = stdout, .err = stderr };
	int status;

	hold_standard_streams();
	signal(SIGPIPE, SIG_IGN); /* EPIPE is told apart from a full disk in print_finish() */
	np.tty_in = isatty(0);
	np.tty_out = isatty(1);
	np.tty_err = isatty(2);
	if (settings_new(&np.settings))
		command_nomem();
	if (argc && main_is_dropin(&np, argv[0])) {
		argv[0] = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
		status = command_run(&np, argc, argv);
	} else {
		status = command_run(&np, argc ? argc - 1 : 0, argv + (argc > 0));
	}
	settings_free(np.settings);
	if (fclose(stdout) != 0 && status == STATUS_OK)
		status = print_fail(&np, STATUS_FAILURE, NULL, "cannot write to standard output");
	return status;
}
