/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accelerators by their PCI ids (from the public pci.ids list), with the market's names for them. Data only; an
 * accelerator that is not in the table goes by its ids.
 */
#include "agentd/machine/gpu.h"

#define SXM "sxm"
#define PCIE "pcie"
#define OAM "oam"

static const struct gpu_known table[] = {
	{ 0x10de, 0x1db1, "v100", "NVIDIA V100 SXM2 16GB", SXM, 16 },
	{ 0x10de, 0x1db4, "v100", "NVIDIA V100 PCIe 16GB", PCIE, 16 },
	{ 0x10de, 0x1db5, "v100", "NVIDIA V100 SXM2 32GB", SXM, 32 },
	{ 0x10de, 0x1db6, "v100", "NVIDIA V100 PCIe 32GB", PCIE, 32 },
	{ 0x10de, 0x1eb8, "t4", "NVIDIA T4", PCIE, 16 },
	{ 0x10de, 0x20b0, "a100", "NVIDIA A100 SXM4 40GB", SXM, 40 },
	{ 0x10de, 0x20b2, "a100", "NVIDIA A100 SXM4 80GB", SXM, 80 },
	{ 0x10de, 0x20b5, "a100", "NVIDIA A100 PCIe 80GB", PCIE, 80 },
	{ 0x10de, 0x20b7, "a30", "NVIDIA A30", PCIE, 24 },
	{ 0x10de, 0x20f1, "a100", "NVIDIA A100 PCIe 40GB", PCIE, 40 },
	{ 0x10de, 0x2203, "rtx3090ti", "NVIDIA GeForce RTX 3090 Ti", PCIE, 24 },
	{ 0x10de, 0x2204, "rtx3090", "NVIDIA GeForce RTX 3090", PCIE, 24 },
	{ 0x10de, 0x2206, "rtx3080", "NVIDIA GeForce RTX 3080", PCIE, 10 },
	{ 0x10de, 0x2230, "rtxa6000", "NVIDIA RTX A6000", PCIE, 48 },
	{ 0x10de, 0x2231, "rtxa5000", "NVIDIA RTX A5000", PCIE, 24 },
	{ 0x10de, 0x2235, "a40", "NVIDIA A40", PCIE, 48 },
	{ 0x10de, 0x2236, "a10", "NVIDIA A10", PCIE, 24 },
	{ 0x10de, 0x2237, "a10g", "NVIDIA A10G", PCIE, 24 },
	{ 0x10de, 0x2321, "h100nvl", "NVIDIA H100 NVL", PCIE, 94 },
	{ 0x10de, 0x2322, "h800", "NVIDIA H800 PCIe", PCIE, 80 },
	{ 0x10de, 0x2324, "h800", "NVIDIA H800", SXM, 80 },
	{ 0x10de, 0x2329, "h20", "NVIDIA H20", SXM, 96 },
	{ 0x10de, 0x2330, "h100", "NVIDIA H100 SXM5 80GB", SXM, 80 },
	{ 0x10de, 0x2331, "h100", "NVIDIA H100 PCIe", PCIE, 80 },
	{ 0x10de, 0x2335, "h200", "NVIDIA H200 SXM", SXM, 141 },
	{ 0x10de, 0x233b, "h200nvl", "NVIDIA H200 NVL", PCIE, 141 },
	{ 0x10de, 0x2684, "rtx4090", "NVIDIA GeForce RTX 4090", PCIE, 24 },
	{ 0x10de, 0x2685, "rtx4090d", "NVIDIA GeForce RTX 4090 D", PCIE, 24 },
	{ 0x10de, 0x26b1, "rtx6000ada", "NVIDIA RTX 6000 Ada Generation", PCIE, 48 },
	{ 0x10de, 0x26b5, "l40", "NVIDIA L40", PCIE, 48 },
	{ 0x10de, 0x26b9, "l40s", "NVIDIA L40S", PCIE, 48 },
	{ 0x10de, 0x2704, "rtx4080", "NVIDIA GeForce RTX 4080", PCIE, 16 },
	{ 0x10de, 0x27b8, "l4", "NVIDIA L4", PCIE, 24 },
	{ 0x10de, 0x2901, "b200", "NVIDIA B200", SXM, 180 },
	{ 0x10de, 0x2941, "gb200", "NVIDIA GB200", "", 0 },
	{ 0x10de, 0x2b85, "rtx5090", "NVIDIA GeForce RTX 5090", PCIE, 32 },
	{ 0x1002, 0x738c, "mi100", "AMD Instinct MI100", PCIE, 32 },
	{ 0x1002, 0x7408, "mi250x", "AMD Instinct MI250X", OAM, 0 },
	{ 0x1002, 0x740c, "mi250", "AMD Instinct MI250 or MI250X", OAM, 0 },
	{ 0x1002, 0x740f, "mi210", "AMD Instinct MI210", PCIE, 64 },
	{ 0x1002, 0x7448, "w7900", "AMD Radeon PRO W7900", PCIE, 48 },
	{ 0x1002, 0x744c, "rx7900", "AMD Radeon RX 7900 XT or XTX", PCIE, 0 },
	{ 0x1002, 0x74a0, "mi300a", "AMD Instinct MI300A", "", 128 },
	{ 0x1002, 0x74a1, "mi300x", "AMD Instinct MI300X", OAM, 192 },
	{ 0x1002, 0x74a2, "mi308x", "AMD Instinct MI308X", OAM, 192 },
	{ 0x1002, 0x74a5, "mi325x", "AMD Instinct MI325X", OAM, 256 },
	{ 0x1002, 0x74b5, "mi300x", "AMD Instinct MI300X (virtual function)", OAM, 192 },
	{ 0x1002, 0x75a0, "mi350x", "AMD Instinct MI350X", OAM, 288 },
	{ 0x1002, 0x75a3, "mi355x", "AMD Instinct MI355X", OAM, 288 },
	{ 0x8086, 0x0bd5, "max1550", "Intel Data Center GPU Max 1550", OAM, 128 },
	{ 0x8086, 0x0bda, "max1100", "Intel Data Center GPU Max 1100", PCIE, 48 },
	{ 0x8086, 0x56a0, "arca770", "Intel Arc A770", PCIE, 0 },
	{ 0x8086, 0x56a1, "arca750", "Intel Arc A750", PCIE, 8 },
	{ 0x8086, 0x56c0, "flex170", "Intel Data Center GPU Flex 170", PCIE, 16 },
	{ 0x8086, 0x56c1, "flex140", "Intel Data Center GPU Flex 140", PCIE, 6 },
	{ 0x8086, 0xe20b, "arcb580", "Intel Arc B580", PCIE, 12 },
	{ 0x8086, 0xe20c, "arcb570", "Intel Arc B570", PCIE, 10 },
};

const struct gpu_known *gpu_known(unsigned vendor, unsigned device)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].vendor == vendor && table[i].device == device)
			return &table[i];
	return NULL;
}
