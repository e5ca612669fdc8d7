# SPDX-License-Identifier: Apache-2.0
# nginx_conf: the configuration of an nginx of this test in the foreground, all below $TMP; its http block has standard input.
nginx_conf() {
	cat <<-END
		daemon off;
		pid $TMP/nginx.pid;
		error_log $TMP/nginx.log error;
		events { worker_connections 512; }
		http {
			access_log off;
			client_body_temp_path $TMP/nginx-body;
			proxy_temp_path $TMP/nginx-proxy;
			fastcgi_temp_path $TMP/nginx-fastcgi;
			uwsgi_temp_path $TMP/nginx-uwsgi;
			scgi_temp_path $TMP/nginx-scgi;
			$(cat)
		}
	END
}
