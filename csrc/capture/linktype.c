/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the LINKTYPE_ registry (https://www.tcpdump.org/linktypes.html). Adding a link
 * type is a line here and its decoder. */
#include "capture.h"

static const struct linktype {
    uint32_t number;
    uint8_t link; /* enum gs_link */
    const char *name;
} linktypes[] = {
    {0, GS_LINK_NULL, "NULL"},
    {1, GS_LINK_ETHERNET, "EN10MB"},
    {6, GS_LINK_TOKEN_RING, "IEEE802_5"},
    {9, GS_LINK_PPP, "PPP"},
    {10, GS_LINK_FDDI, "FDDI"},
    {12, GS_LINK_RAW, "RAW"}, /* DLT_RAW of most systems, written by old tools as it was */
    {14, GS_LINK_RAW, "RAW"}, /* DLT_RAW of OpenBSD */
    {50, GS_LINK_PPP, "PPP_SERIAL"},
    {101, GS_LINK_RAW, "RAW"},
    {104, GS_LINK_CISCO_HDLC, "C_HDLC"},
    {105, GS_LINK_IEEE802_11, "IEEE802_11"},
    {107, GS_LINK_FRAME_RELAY, "FRELAY"},
    {108, GS_LINK_LOOP, "LOOP"},
    {113, GS_LINK_SLL, "LINUX_SLL"},
    {117, GS_LINK_PFLOG, "PFLOG"},
    {123, GS_LINK_SUNATM, "SUNATM"},
    {127, GS_LINK_RADIOTAP, "IEEE802_11_RADIO"},
    {192, GS_LINK_PPI, "PPI"},
    {228, GS_LINK_IPV4, "IPV4"},
    {229, GS_LINK_IPV6, "IPV6"},
    {239, GS_LINK_NFLOG, "NFLOG"},
    {242, GS_LINK_IPOIB, "IPOIB"},
    {258, GS_LINK_PKTAP, "PKTAP"},
    {276, GS_LINK_SLL2, "LINUX_SLL2"},

    {2, GS_LINK_UNSUPPORTED, "EN3MB"},
    {3, GS_LINK_UNSUPPORTED, "AX25"},
    {7, GS_LINK_UNSUPPORTED, "ARCNET_BSD"},
    {8, GS_LINK_UNSUPPORTED, "SLIP"},
    {51, GS_LINK_UNSUPPORTED, "PPP_ETHER"},
    {99, GS_LINK_UNSUPPORTED, "SYMANTEC_FIREWALL"},
    {100, GS_LINK_UNSUPPORTED, "ATM_RFC1483"},
    {114, GS_LINK_UNSUPPORTED, "LTALK"},
    {119, GS_LINK_UNSUPPORTED, "IEEE802_11_PRISM"},
    {122, GS_LINK_UNSUPPORTED, "IP_OVER_FC"},
    {129, GS_LINK_UNSUPPORTED, "ARCNET_LINUX"},
    {138, GS_LINK_UNSUPPORTED, "APPLE_IP_OVER_IEEE1394"},
    {139, GS_LINK_UNSUPPORTED, "MTP2_WITH_PHDR"},
    {140, GS_LINK_UNSUPPORTED, "MTP2"},
    {141, GS_LINK_UNSUPPORTED, "MTP3"},
    {142, GS_LINK_UNSUPPORTED, "SCCP"},
    {143, GS_LINK_UNSUPPORTED, "DOCSIS"},
    {144, GS_LINK_UNSUPPORTED, "LINUX_IRDA"},
    {147, GS_LINK_UNSUPPORTED, "USER0"},
    {148, GS_LINK_UNSUPPORTED, "USER1"},
    {149, GS_LINK_UNSUPPORTED, "USER2"},
    {150, GS_LINK_UNSUPPORTED, "USER3"},
    {151, GS_LINK_UNSUPPORTED, "USER4"},
    {152, GS_LINK_UNSUPPORTED, "USER5"},
    {153, GS_LINK_UNSUPPORTED, "USER6"},
    {154, GS_LINK_UNSUPPORTED, "USER7"},
    {155, GS_LINK_UNSUPPORTED, "USER8"},
    {156, GS_LINK_UNSUPPORTED, "USER9"},
    {157, GS_LINK_UNSUPPORTED, "USER10"},
    {158, GS_LINK_UNSUPPORTED, "USER11"},
    {159, GS_LINK_UNSUPPORTED, "USER12"},
    {160, GS_LINK_UNSUPPORTED, "USER13"},
    {161, GS_LINK_UNSUPPORTED, "USER14"},
    {162, GS_LINK_UNSUPPORTED, "USER15"},
    {163, GS_LINK_UNSUPPORTED, "IEEE802_11_AVS"},
    {165, GS_LINK_UNSUPPORTED, "BACNET_MS_TP"},
    {166, GS_LINK_UNSUPPORTED, "PPP_PPPD"},
    {169, GS_LINK_UNSUPPORTED, "GPRS_LLC"},
    {177, GS_LINK_UNSUPPORTED, "LINUX_LAPD"},
    {182, GS_LINK_UNSUPPORTED, "MFR"},
    {187, GS_LINK_UNSUPPORTED, "BLUETOOTH_HCI_H4"},
    {189, GS_LINK_UNSUPPORTED, "USB_LINUX"},
    {195, GS_LINK_UNSUPPORTED, "IEEE802_15_4_WITHFCS"},
    {197, GS_LINK_UNSUPPORTED, "ERF"},
    {201, GS_LINK_UNSUPPORTED, "BLUETOOTH_HCI_H4_WITH_PHDR"},
    {203, GS_LINK_UNSUPPORTED, "LAPD"},
    {204, GS_LINK_UNSUPPORTED, "PPP_WITH_DIR"},
    {205, GS_LINK_UNSUPPORTED, "C_HDLC_WITH_DIR"},
    {206, GS_LINK_UNSUPPORTED, "FRELAY_WITH_DIR"},
    {215, GS_LINK_UNSUPPORTED, "IEEE802_15_4_NONASK_PHY"},
    {220, GS_LINK_UNSUPPORTED, "USB_LINUX_MMAPPED"},
    {224, GS_LINK_UNSUPPORTED, "FC_2"},
    {226, GS_LINK_UNSUPPORTED, "IPNET"},
    {227, GS_LINK_UNSUPPORTED, "CAN_SOCKETCAN"},
    {230, GS_LINK_UNSUPPORTED, "IEEE802_15_4_NOFCS"},
    {231, GS_LINK_UNSUPPORTED, "DBUS"},
    {240, GS_LINK_UNSUPPORTED, "NETANALYZER"},
    {243, GS_LINK_UNSUPPORTED, "MPEG_2_TS"},
    {247, GS_LINK_UNSUPPORTED, "INFINIBAND"},
    {248, GS_LINK_UNSUPPORTED, "SCTP"},
    {249, GS_LINK_UNSUPPORTED, "USBPCAP"},
    {251, GS_LINK_UNSUPPORTED, "BLUETOOTH_LE_LL"},
    {252, GS_LINK_UNSUPPORTED, "WIRESHARK_UPPER_PDU"},
    {253, GS_LINK_UNSUPPORTED, "NETLINK"},
    {254, GS_LINK_UNSUPPORTED, "BLUETOOTH_LINUX_MONITOR"},
    {256, GS_LINK_UNSUPPORTED, "BLUETOOTH_LE_LL_WITH_PHDR"},
    {259, GS_LINK_UNSUPPORTED, "EPON"},
    {264, GS_LINK_UNSUPPORTED, "ISO_14443"},
    {266, GS_LINK_UNSUPPORTED, "USB_DARWIN"},
    {271, GS_LINK_UNSUPPORTED, "VSOCK"},
    {272, GS_LINK_UNSUPPORTED, "NORDIC_BLE"},
    {274, GS_LINK_UNSUPPORTED, "ETHERNET_MPACKET"},
    {279, GS_LINK_UNSUPPORTED, "EBHSCR"},
    {281, GS_LINK_UNSUPPORTED, "DSA_TAG_BRCM"},
    {283, GS_LINK_UNSUPPORTED, "IEEE802_15_4_TAP"},
};

static const struct linktype *find(uint32_t number)
{
    for (size_t i = 0; i < sizeof linktypes / sizeof *linktypes; i++)
        if (linktypes[i].number == number) return &linktypes[i];
    return NULL;
}

uint8_t gs_link_of_linktype(uint32_t linktype)
{
    const struct linktype *found = find(linktype);
    return found != NULL ? found->link : GS_LINK_UNSUPPORTED;
}

const char *gs_linktype_name(uint32_t linktype)
{
    const struct linktype *found = find(linktype);
    return found != NULL ? found->name : NULL;
}

uint32_t gs_linktype_meant(const struct gs_link_types *types, uint32_t linktype)
{
    for (uint32_t i = 0; types != NULL && i < types->count; i++)
        if (types->types[i].number == linktype) return types->types[i].taken_as;
    return linktype;
}
