# SPDX-License-Identifier: Apache-2.0
# STAND-IN of Grafana for tests, which is not to be had here: an archive as its makers', whose program takes what the real one
# takes: --homepath, --config, the variables GF_…, __FILE. It starts only where it can read what it is given, answers to
# its admin's password alone, and tells what it has read.
#     grafana_archive FOLDER    writes FOLDER/grafana-11.1.0.linux-amd64.tar.gz
grafana_archive() {
	mkdir -p "$1/grafana-v11.1.0/bin" "$1/grafana-v11.1.0/conf" "$1/grafana-v11.1.0/public"
	echo 11.1.0 >"$1/grafana-v11.1.0/VERSION"
	printf '[server]\nhttp_addr =\nhttp_port = 3000\n[paths]\ndata = data\nprovisioning = conf/provisioning\n[security]\nadmin_password = admin\n' >"$1/grafana-v11.1.0/conf/defaults.ini"
	cat >"$1/grafana-v11.1.0/bin/grafana" <<-'END'
		#!/usr/bin/perl
		# STAND-IN of Grafana for tests.
		use IO::Socket::INET;
		$| = 1;
		shift eq 'server' or die "usage: grafana server\n";
		my (%o, %c);
		for (@ARGV) { /^--(homepath|config)=(.+)/ ? $o{$1} = $2 : die "flag provided but not defined: $_\n" }
		for my $ini ("$o{homepath}/conf/defaults.ini", $o{config}) {
			open my $f, '<', $ini or die "$ini: $!\n";
			my $s = '';
			while (<$f>) { /^\[(\w+)\]/ ? $s = $1 : /^(\w+) = (.*)/ ? $c{"$s.$1"} = $2 : 0 }
		}
		for (keys %ENV) {
			next unless /^GF_([A-Z]+)_(\w+?)(__FILE)?$/;
			my ($key, $value) = (lc "$1.$2", $ENV{$_});
			if ($3) { open my $f, '<', $value or die "$value: $!\n"; chomp($value = <$f>) }
			$c{$key} = $value;
		}
		my @read;
		for (glob("$c{'paths.provisioning'}/datasources/*.yaml $c{'paths.provisioning'}/dashboards/*.yaml")) {
			open my $f, '<', $_ or die "$_: $!\n"; my $text = join '', <$f>; push @read, $_;
			$text =~ /^apiVersion: 1$/m or die "$_: no apiVersion\n";
			next unless $text =~ /^\s+path: (\S+)/m;
			for (sort split /\n/, `find $1 -name '*.json'`) { open my $b, '<', $_ or die "$_: $!\n"; push @read, $_ }
		}
		open my $d, '>', "$c{'paths.data'}/grafana.db" or die "$c{'paths.data'}: $!\n";
		open my $log, '>>', "$c{'paths.logs'}/grafana.log" or die "$c{'paths.logs'}: $!\n"; $log->autoflush(1);
		my $l = IO::Socket::INET->new(LocalAddr => "$c{'server.http_addr'}:$c{'server.http_port'}", Listen => 8, ReuseAddr => 1) or die "$c{'server.http_addr'}: $!\n";
		print $log "t=now lvl=info msg=\"HTTP Server Listen\" STAND-IN\n";
		my $want = mime("admin:$c{'security.admin_password'}");
		sub mime { my $b = ''; my $s = shift; while ($s =~ /(.{1,45})/gs) { my $u = substr pack('u', $1), 1; chomp $u; $b .= $u } $b =~ tr|` -_|AA-Za-z0-9+/|; my $p = (3 - length($s) % 3) % 3; $b =~ s/.{$p}$/'=' x $p/e if $p; $b }
		while (my $s = $l->accept) {
			my $asked = <$s>, my $who = '';
			while (my $h = <$s>) { last if $h =~ /^\r?\n$/; $who = $1 if $h =~ /^Authorization: Basic (\S+)/i }
			print $s $who eq $want ? "HTTP/1.0 200 OK\r\n\r\n" . join("\n", @read) . "\n" : "HTTP/1.0 401 Unauthorized\r\n\r\n";
			close $s;
		}
	END
	chmod 755 "$1/grafana-v11.1.0/bin/grafana"
	tar -C "$1" -czf "$1/grafana-11.1.0.linux-amd64.tar.gz" grafana-v11.1.0
}
