package kube

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/vishvananda/netlink"
)

// Addresses of the network that nodes and the API server share. The pods of node n have
// 10.244.n.0/24, services 10.96.0.0/16.
const (
	apiAddress    = "172.30.0.1"
	serviceRange  = "10.96.0.0/16"
	dnsAddress    = "10.96.0.10"
	clusterDomain = "cluster.local"
	bridge        = "nodes"
)

func nodeAddress(n int) string { return fmt.Sprintf("172.30.0.%d", 10+n) }

func podRange(n int) string { return fmt.Sprintf("10.244.%d.0/24", n) }

func linkUp(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		return fmt.Errorf("start the device %s: %w", name, err)
	}
	return nil
}

// address gives a device an address of the shared network.
func address(device, ip string) error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("device %s: %w", device, err)
	}
	at := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(ip), Mask: net.CIDRMask(24, 32)}}
	if err := netlink.AddrAdd(link, at); err != nil {
		return fmt.Errorf("address %s of %s: %w", ip, device, err)
	}
	return linkUp(device)
}

// makeBridge makes the network that nodes share, with the API server on it.
func makeBridge() error {
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridge}}); err != nil {
		return fmt.Errorf("make bridge %s: %w", bridge, err)
	}
	return address(bridge, apiAddress)
}

// plug connects the network namespace of a process to the bridge, as its eth0, and routes the pods
// of node n to it.
func plug(n, pid int) error {
	shared, err := netlink.LinkByName(bridge)
	if err != nil {
		return err
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MasterIndex = fmt.Sprint("node", n), shared.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("connect node %d: %w", n, err)
	}
	if err := linkUp(attributes.Name); err != nil {
		return err
	}
	return route(n)
}

// route sends what is for the pods of a node to the node.
func route(n int) error { return routeVia(podRange(n), nodeAddress(n)) }

func routeVia(addresses, gateway string) error {
	_, destination, err := net.ParseCIDR(addresses)
	if err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{Dst: destination, Gw: net.ParseIP(gateway)}); err != nil {
		return fmt.Errorf("route %s through %s: %w", addresses, gateway, err)
	}
	return nil
}

// joinNetwork waits for eth0 of node n, one of several, and routes to the pods of the others.
func joinNetwork(n, nodes int) error {
	if err := linkUp("lo"); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, err := netlink.LinkByName("eth0")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("eth0: %w", err)
		}
	}
	if err := address("eth0", nodeAddress(n)); err != nil {
		return err
	}
	gateway := &netlink.Route{Gw: net.ParseIP(apiAddress)}
	if err := netlink.RouteAdd(gateway); err != nil {
		return fmt.Errorf("default route: %w", err)
	}
	for other := 1; other <= nodes; other++ {
		if other == n {
			continue
		}
		if err := route(other); err != nil {
			return err
		}
	}
	var failed error
	for _, setting := range []string{"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/bridge/bridge-nf-call-iptables"} {
		failed = errors.Join(failed, os.WriteFile(setting, []byte("1"), 0))
	}
	return failed
}
