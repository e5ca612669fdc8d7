# SPDX-License-Identifier: Apache-2.0
# MariaDB and slurmdbd. The password is generated here, is only in slurmdbd.conf, and goes to the server on standard input.

conf=/etc/slurm/slurmdbd.conf

password() {
	pass=$(sed -n 's/^StoragePass=//p' $conf 2>/dev/null)
	[ -n "$pass" ] || pass=$(head -c 24 /dev/urandom | base64 | tr -d '/+=\n')
}

slurmdbd_conf() {
	cat <<-.
		# Written by nanopod for cluster '$NP_CLUSTER'.
		AuthType=auth/munge
		DbdHost=$NP_HOST
		DbdAddr=$NP_ADDRESS
		SlurmUser=slurm
		LogFile=/var/log/slurm/slurmdbd.log
		PidFile=/run/slurmdbd.pid
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=slurm
		StorageLoc=slurm_acct_db
		StoragePass=$pass
	.
}

sql() { timeout 60 mysql --protocol=socket -N; }
# Whether the server accepts the password.
known() { printf '[client]\nuser=slurm\npassword=%s\n' "$pass" >"$np_room/my" && echo 'SELECT 1' | timeout 20 mysql --defaults-file="$np_room/my" -N slurm_acct_db >/dev/null 2>&1; }
listens() { np_open "$NP_ADDRESS" 6819 2; }

want() {
	np_trace /var/lib/mysql /var/log/mysql /etc/mysql /run/mysqld
	np_packages mariadb-server slurmdbd
	! np_has_failed || return 1
	printf '[mysqld]\nbind-address=127.0.0.1\ninnodb_buffer_pool_size=512M\ninnodb_log_file_size=64M\ninnodb_lock_wait_timeout=900\n' |
		np_file /etc/mysql/mariadb.conf.d/60-nanopod.cnf 0644 root:root
	np_restart mariadb
	np_unit mariadb
	np_rooms && (umask 077; : >"$np_room/my") || return 1
	if ! np_changing && ! command -v mysql >/dev/null; then np_differs "write $conf"; np_unit slurmdbd; return; fi
	! np_has_failed || return 1
	password
	if ! known; then
		np_changing || np_differs "make the database slurm_acct_db"
		if np_changing; then
			# A database of that name that existed before is not ours to remove.
			[ -n "$(echo "SHOW DATABASES LIKE 'slurm\\_acct\\_db'" | sql)" ] || np_ledger database slurm_acct_db || return 1
			printf '%s\n' "CREATE DATABASE IF NOT EXISTS slurm_acct_db;" "CREATE USER IF NOT EXISTS slurm@localhost;" \
				"ALTER USER slurm@localhost IDENTIFIED BY '$pass';" "GRANT ALL ON slurm_acct_db.* TO slurm@localhost;" | sql ||
				{ np_fail "MariaDB does not make the database"; return 1; }
			np_note_change
			np_did "make the database slurm_acct_db"
		fi
	fi
	slurmdbd_conf | np_file $conf 0600 slurm:slurm secret
	np_restart slurmdbd
	np_unit slurmdbd
	np_changing || return 0
	! np_has_failed || return 1
	np_wait 30 listens || { tail -n 20 /var/log/slurm/slurmdbd.log; np_fail "slurmdbd does not listen: $(grep -E 'fatal|error' /var/log/slurm/slurmdbd.log | tail -n 1)"; return 1; }
}

verify() {
	np_hold 1 mariadb slurmdbd
	if [ -n "$(timeout 20 sacctmgr -n -P show cluster "cluster=$NP_CLUSTER" format=controlhost 2>/dev/null)" ]; then np_ok "slurmdbd knows the cluster"
	else np_bad "slurmdbd does not know the cluster '$NP_CLUSTER'"
	fi
}

undo() { np_aside /var/lib/mysql "the accounting of the cluster, as MariaDB keeps it" slurmdbd mariadb; }
# If this step installed MariaDB, the database goes with its folder.
np_undo_database() {
	if [ -n "$NP_LEAVING" ]; then np_left "the database $1 of MariaDB: the accounting of the cluster"; return 0; fi
	grep -qs "${np_tab}tree${np_tab}/var/lib/mysql${np_tab}" "$(np_book)" && return
	! np_active mariadb || printf '%s\n' "DROP DATABASE IF EXISTS $1;" "DROP USER IF EXISTS slurm@localhost;" | sql
}
