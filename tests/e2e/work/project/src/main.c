// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"
#include "project.h"

#ifdef HAVE_STDIO_H
#include <stdio.h>
#endif

int main(void)
{
	printf("%d\n", add(mul(4, 11), neg(2)));
	return 0;
}
