module shopwire/chart

go 1.19

require (
	github.com/Masterminds/sprig/v3 v3.2.3
	sigs.k8s.io/yaml v1.3.0
)
