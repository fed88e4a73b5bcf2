/*
 * A network card with priorities, for dcb: this file takes the place of libmnl's two
 * functions that talk to the kernel and keeps the card's state in the file DCB_STATE.
 * DCB_DRIVER says how entries for DSCP behave: mlx5 puts a new one in the old one's
 * place, ice wants the old one gone first, anything else keeps both, as the kernel's
 * own table does.
 */
#include <errno.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static struct {
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	int count;
	struct dcb_app apps[128];
} card;

static char answer[8192];
static int length;

static void load(void)
{
	FILE *f = fopen(getenv("DCB_STATE"), "r");

	memset(&card, 0, sizeof(card));
	card.ets.ets_cap = card.pfc.pfc_cap = 8;
	if (f) {
		if (fread(&card, sizeof(card), 1, f) != 1)
			exit(3);
		fclose(f);
	}
}

static void save(void)
{
	FILE *f = fopen(getenv("DCB_STATE"), "w");

	if (!f || fwrite(&card, sizeof(card), 1, f) != 1 || fclose(f))
		exit(3);
}

static struct rtattr *put(int type, const void *data, int size)
{
	struct rtattr *a = (struct rtattr *)(answer + length);

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(a), data, size);
	length += RTA_ALIGN(a->rta_len);
	return a;
}

static void close_nest(struct rtattr *a) { a->rta_len = answer + length - (char *)a; }

static int driver(const char *name)
{
	const char *is = getenv("DCB_DRIVER");

	return is && !strcmp(is, name);
}

static int add(struct dcb_app *app)
{
	for (int i = 0; i < card.count; i++) {
		if (!memcmp(&card.apps[i], app, sizeof(*app)) && !driver("mlx5"))
			return driver("ice") ? -EINVAL : -EEXIST;
		if (card.apps[i].selector != app->selector || card.apps[i].protocol != app->protocol)
			continue;
		if (driver("ice"))
			return -EINVAL;
		if (driver("mlx5")) {
			card.apps[i] = *app;
			return 0;
		}
	}
	card.apps[card.count++] = *app;
	return 0;
}

static int drop(struct dcb_app *app)
{
	for (int i = 0; i < card.count; i++) {
		if (!memcmp(&card.apps[i], app, sizeof(*app))) {
			card.apps[i] = card.apps[--card.count]; /* in another order */
			return 0;
		}
	}
	return -ENOENT;
}

static int classes(struct ieee_ets *ets)
{
	int sum = 0, any = 0;

	for (int i = 0; i < 8; i++) {
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			any = 1;
			sum += ets->tc_tx_bw[i];
		}
	}
	if (any && sum != 100)
		return -EINVAL;
	card.ets = *ets;
	return 0;
}

static int set(int cmd, struct rtattr *ieee)
{
	struct rtattr *a = RTA_DATA(ieee);
	int left = RTA_PAYLOAD(ieee), err = 0;

	for (; RTA_OK(a, left) && !err; a = RTA_NEXT(a, left)) {
		struct rtattr *x = RTA_DATA(a);
		int rest = RTA_PAYLOAD(a);

		switch (a->rta_type & NLA_TYPE_MASK) {
		case DCB_ATTR_IEEE_ETS:
			err = classes(RTA_DATA(a));
			break;
		case DCB_ATTR_IEEE_PFC:
			memcpy(&card.pfc, RTA_DATA(a), sizeof(card.pfc));
			break;
		case DCB_ATTR_IEEE_APP_TABLE:
			for (; RTA_OK(x, rest) && !err; x = RTA_NEXT(x, rest))
				err = cmd == DCB_CMD_IEEE_SET ? add(RTA_DATA(x)) : drop(RTA_DATA(x));
		}
	}
	return err;
}

ssize_t mnl_socket_sendto(const void *socket, const void *buf, size_t size)
{
	const struct nlmsghdr *ask = buf;
	struct dcbmsg *what = NLMSG_DATA(ask);
	struct rtattr *a = (struct rtattr *)((char *)what + NLMSG_ALIGN(sizeof(*what))), *ieee = NULL;
	int left = ask->nlmsg_len - NLMSG_LENGTH(sizeof(*what));

	(void)socket;
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if ((a->rta_type & NLA_TYPE_MASK) == DCB_ATTR_IEEE)
			ieee = a;
	load();
	memset(answer, 0, sizeof(answer));
	memcpy(answer, ask, NLMSG_LENGTH(sizeof(*what)));
	length = NLMSG_LENGTH(sizeof(*what));
	if (what->cmd == DCB_CMD_IEEE_GET) {
		struct rtattr *nest = put(DCB_ATTR_IEEE, NULL, 0), *table;

		put(DCB_ATTR_IEEE_ETS, &card.ets, sizeof(card.ets));
		put(DCB_ATTR_IEEE_PFC, &card.pfc, sizeof(card.pfc));
		table = put(DCB_ATTR_IEEE_APP_TABLE, NULL, 0);
		for (int i = 0; i < card.count; i++)
			put(DCB_ATTR_IEEE_APP, &card.apps[i], sizeof(card.apps[i]));
		close_nest(table);
		close_nest(nest);
	} else {
		unsigned char err = -set(what->cmd, ieee);

		save();
		put(DCB_ATTR_IEEE, &err, 1);
	}
	((struct nlmsghdr *)answer)->nlmsg_len = length;
	return size;
}

ssize_t mnl_socket_recvfrom(const void *socket, void *buf, size_t size)
{
	(void)socket;
	if ((size_t)length > size)
		exit(3);
	memcpy(buf, answer, length);
	return length;
}
