package burnin

import (
	"fmt"
	"slices"
)

// packages say where a program comes from that may be missing on a node: the package of
// Debian and of RHEL where both have it, NVIDIA's own, or the repository of its source.
// What has two names is named as Debian / RHEL.
var packages = map[string]string{
	"curl":             "package curl",
	"dmidecode":        "package dmidecode",
	"ethtool":          "package ethtool",
	"fio":              "package fio",
	"ipmitool":         "package ipmitool",
	"lsblk":            "package util-linux",
	"lscpu":            "package util-linux",
	"lldpcli":          "package lldpd, on RHEL of EPEL",
	"lspci":            "package pciutils",
	"nvme":             "package nvme-cli",
	"ras-mc-ctl":       "package rasdaemon",
	"smartctl":         "package smartmontools",
	"stress-ng":        "package stress-ng, on RHEL of EPEL",
	"stressapptest":    "package stressapptest, on RHEL of EPEL",
	"nvidia-smi":       "NVIDIA's driver: package nvidia-smi / nvidia-driver-cuda",
	"nv-fabricmanager": "NVIDIA's package nvidia-fabricmanager of the driver's version",
	"dcgmi":            "NVIDIA's package datacenter-gpu-manager-4-core",
	"dcgmproftester12": "NVIDIA's packages datacenter-gpu-manager-4",
	"gpu-fryer":        "github.com/huggingface/gpu-fryer",
	"gpu_burn":         "github.com/wilicc/gpu-burn",
	"all_reduce_perf":  "github.com/NVIDIA/nccl-tests",
	"nvbandwidth":      "github.com/NVIDIA/nvbandwidth, version 0.5 or newer", // -j is in it since then
	"stream":           "STREAM by John McCalpin, built for arrays of four times the caches",

	"/usr/local/cuda/gds/tools/gdsio": "NVIDIA's package gds-tools",

	// Asked by scripts that ask several.
	"ib_write_bw":          "package perftest",
	"iperf3":               "package iperf3",
	"gdscheck":             "NVIDIA's package gds-tools",
	"nvidia-ctk":           "NVIDIA's package nvidia-container-toolkit",
	"nvidia-container-cli": "NVIDIA's package libnvidia-container-tools",
	"kubectl":              "of Kubernetes: package kubectl",
	"lfs":                  "of Lustre: package lustre-client-utils / lustre-client",
	"mmlsmount":            "of IBM Storage Scale: package gpfs.base",
}

// notThere says that a program is not on the node, and what brings it.
func notThere(tool string) string {
	if from := packages[tool]; from != "" {
		return fmt.Sprintf("%s (%s) is not on the node", tool, from)
	}
	return tool + " is not on the node"
}

// toolOf is the program that a probe or a load needs; its own name where it is neither.
func toolOf(name string) string {
	probes := Probes()
	if i := slices.IndexFunc(probes, func(p ProbeSpec) bool { return p.Name == name && p.Tool != "" }); i >= 0 {
		return probes[i].Tool
	}
	loads := Loads()
	if i := slices.IndexFunc(loads, func(l Load) bool { return l.Name == name && l.Tool != "" }); i >= 0 {
		return loads[i].Tool
	}
	return name
}
