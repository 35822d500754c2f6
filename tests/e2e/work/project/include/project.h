/* SPDX-License-Identifier: GPL-2.0-only */
int add(int a, int b);
int mul(int a, int b);
int neg(int a);
