# daemon/monitoring: alerts for Prometheus and boards for Grafana, from the market's /metrics.
monitoringdir = $(pkgdatadir)/monitoring
dist_monitoring_DATA = daemon/monitoring/machines.json daemon/monitoring/market.json daemon/monitoring/rules.yaml
