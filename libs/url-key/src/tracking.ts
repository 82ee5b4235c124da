/**
 * Query parameters that identify where a visitor came from, but never change the page. Grouped by the advertising, mail
 * and analytics systems that add them. `ref`, `source`, `cid` and `from` are missing, because some sites use them for
 * content. Versions are added, but never edited, because stored sets' keys depend on them.
 */
export interface TrackingList {
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

const VERSION_1: TrackingList = {
  prefixes: ['utm_'],
  names: new Set([
    // Google
    ...[
      'gclid',
      'gclsrc',
      'dclid',
      'gbraid',
      'wbraid',
      'gad_source',
      'gad_campaignid',
      'srsltid',
      '_ga',
      '_gl',
    ],
    // Meta
    ...['fbclid', 'igshid', 'igsh', 'mibextid'],
    // Microsoft, Yandex, X, TikTok, LinkedIn, Reddit, Pinterest, Snapchat
    ...[
      'msclkid',
      'yclid',
      'ysclid',
      'ymclid',
      '_openstat',
      'twclid',
      'ttclid',
      'li_fat_id',
      'rdt_cid',
      'epik',
      'ScCid',
    ],
    // Mailchimp, HubSpot, Marketo, Klaviyo, Vero, Omeda, dotdigital, MailerLite
    ...[
      'mc_cid',
      'mc_eid',
      '_hsenc',
      '_hsmi',
      '__hssc',
      '__hstc',
      '__hsfp',
      'hsCtaTracking',
      'mkt_tok',
      '_kx',
    ],
    ...['vero_id', 'vero_conv', 'oly_anon_id', 'oly_enc_id', 'dm_i', 'ml_subscriber', 'ml_subscriber_hash'],
    // Matomo, Piwik, Impact, Rakuten, Hearst
    ...[
      'mtm_campaign',
      'mtm_keyword',
      'mtm_source',
      'mtm_medium',
      'mtm_content',
      'mtm_cid',
      'mtm_group',
      'mtm_placement',
    ],
    ...[
      'pk_campaign',
      'pk_kwd',
      'pk_keyword',
      'pk_source',
      'pk_medium',
      'pk_content',
      'pk_cid',
      'piwik_campaign',
    ],
    ...['piwik_kwd', 'piwik_keyword', 'irclickid', 'zanpid', 'wickedid', 'rb_clickid'],
  ]),
};

export const TRACKING_VERSIONS = [1] as const;

export type TrackingVersion = (typeof TRACKING_VERSIONS)[number];

/** The version that new profiles record. */
export const LATEST_TRACKING_VERSION: TrackingVersion = 1;

export const TRACKING_LISTS: Readonly<Record<TrackingVersion, TrackingList>> = { 1: VERSION_1 };

/** True if a parameter with this name (canonical bytes, case-sensitive) only tracks visitors. */
export function isTracking(list: TrackingList, name: string): boolean {
  return list.names.has(name) || list.prefixes.some((prefix) => name.startsWith(prefix));
}
