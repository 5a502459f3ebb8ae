/* The templates net_*.nft, embedded by embed_text.cmake. */
#ifndef SANDBOX_NET_TEXT_H
#define SANDBOX_NET_TEXT_H

extern const char net_text_egress[];
extern const char net_text_host[];

#endif
