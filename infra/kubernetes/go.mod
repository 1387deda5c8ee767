module github.com/stoker-ml/stoker/infra/kubernetes

go 1.26.8

tool (
	go.etcd.io/etcd/server/v3
	helm.sh/helm/v4/cmd/helm
	k8s.io/kubernetes/cmd/kube-apiserver
)
