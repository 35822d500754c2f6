// SPDX-License-Identifier: GPL-2.0-only
#include "project.h"

int neg(int a)
{
	return -a;
}
