/*
 * The source of unseen.json. To update that file: UPDATE_DASHBOARD=1 npm test -- test/deploy/dashboard
 *
 * Gauges of the store are the same on all instances, so panels show their maximum. Counters are summed.
 */

type Unit = 'short' | 's' | 'bytes' | 'percentunit' | 'reqps' | 'ops';

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  /** What the panel shows, for a reader who does not know the metric. */
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Selects the job and the instances that the reader has chosen. */
const INSTANCES = 'job="$job", instance=~"$instance"';
const FILTERS = `${INSTANCES}, filter=~"$filter"`;
/** A panel's size. Grafana's grid has 24 columns. */
const WIDTH = 8;
const HEIGHT = 8;
const PER_LINE = 3;

const query = (expr: string, legend: string): Query => ({ expr, legend });

const rate = (counter: string, by: string, where = INSTANCES): string =>
  `sum by (${by}) (rate(${counter}{${where}}[$__rate_interval]))`;

const quantile = (q: number, histogram: string, by: string): string =>
  `histogram_quantile(${q}, ${rate(`${histogram}_bucket`, `${by}, le`)})`;

/** A gauge of the store, per filter. */
const ofFilter = (gauge: string, more = '', by = 'filter', of: 'max' | 'min' = 'max'): string =>
  `${of} by (${by}) (unseen_${gauge}{${FILTERS}${more}})`;

const ofInstance = (gauge: string): string => `unseen_${gauge}{${INSTANCES}}`;

const ROWS: readonly Row[] = [
  {
    title: 'Service',
    panels: [
      {
        title: 'Versions',
        description: 'Instances by version. More than one version should run only during an upgrade.',
        unit: 'short',
        queries: [query(`count by (version, store) (${ofInstance('build_info')})`, '{{version}}, {{store}}')],
      },
      {
        title: 'Store ready',
        description:
          '1 if the store can serve requests, if the last scrape has the gauges of filters, and if Redis has lost all data.',
        unit: 'short',
        queries: [
          query(ofInstance('store_ready'), '{{instance}} ready'),
          query(ofInstance('store_scrape_success'), '{{instance}} has gauges'),
          query(ofInstance('store_data_lost'), '{{instance}} lost'),
        ],
      },
      {
        title: 'Errors',
        description: 'Errors per second, by code.',
        unit: 'ops',
        queries: [query(rate('unseen_errors_total', 'code'), '{{code}}')],
      },
      {
        title: 'Requests',
        description: 'Answered HTTP requests per second, by route.',
        unit: 'reqps',
        queries: [query(rate('unseen_http_requests_total', 'method, route'), '{{method}} {{route}}')],
      },
      {
        title: 'Slow requests',
        description: 'The time within which 99 % of the requests were answered, by route.',
        unit: 's',
        queries: [
          query(
            quantile(0.99, 'unseen_http_request_duration_seconds', 'method, route'),
            '{{method}} {{route}}',
          ),
        ],
      },
      {
        title: 'Memory of the process',
        description: 'Resident memory by instance.',
        unit: 'bytes',
        queries: [query(`process_resident_memory_bytes{${INSTANCES}}`, '{{instance}}')],
      },
      {
        title: 'Spans of traces',
        description: 'Spans per second, by outcome. All but the outcome "sent" are lost.',
        unit: 'ops',
        queries: [query(rate('unseen_trace_spans_total', 'outcome'), '{{outcome}}')],
      },
    ],
  },
  {
    title: 'Verdicts',
    panels: [
      {
        title: 'Items and URLs',
        description: 'Items and URLs per second, by verb and verdict.',
        unit: 'ops',
        queries: [query(rate('unseen_items_total', 'verb, verdict'), '{{verb}}: {{verdict}}')],
      },
      {
        title: 'Busiest filters',
        description: 'Items and URLs per second, by filter. (others) has those of filters without series.',
        unit: 'ops',
        queries: [query(`topk(10, ${rate('unseen_filter_verdicts_total', 'filter')})`, '{{filter}}')],
      },
      {
        title: 'Verdicts of the chosen filters',
        description: 'Items and URLs per second, by filter, verb and verdict.',
        unit: 'ops',
        queries: [
          query(
            rate('unseen_filter_verdicts_total', 'filter, verb, verdict', FILTERS),
            '{{filter}} {{verb}}: {{verdict}}',
          ),
        ],
      },
    ],
  },
  {
    title: 'Filters and visited sets',
    panels: [
      {
        title: 'Items',
        description: 'Items in the filter.',
        unit: 'short',
        queries: [query(ofFilter('filter_items'), '{{filter}}')],
      },
      {
        title: 'Share of capacity',
        description: 'Items, as a share of those that the filter has room for once it has all its layers.',
        unit: 'percentunit',
        queries: [
          query(`${ofFilter('filter_items')} / ${ofFilter('filter_max_capacity_items')}`, '{{filter}}'),
        ],
      },
      {
        title: 'False positives over promise',
        description:
          'The estimated rate of false positives, divided by the promised rate. Above 1, there are too many.',
        unit: 'percentunit',
        queries: [
          query(
            `${ofFilter('filter_false_positive_ratio')} / ${ofFilter('filter_promised_false_positive_ratio')}`,
            '{{filter}}',
          ),
        ],
      },
      {
        title: 'Layers',
        description: 'Layers that the filter has, and that it may have.',
        unit: 'short',
        queries: [
          query(ofFilter('filter_layers'), '{{filter}}'),
          query(ofFilter('filter_max_layers'), '{{filter}}, at most'),
        ],
      },
      {
        title: 'Memory',
        description: 'Bytes in the layers.',
        unit: 'bytes',
        queries: [query(ofFilter('filter_memory_bytes'), '{{filter}}')],
      },
      {
        title: 'Fill and saturation',
        description: 'The share of non-zero counters, and the number of counters that stay at 15.',
        unit: 'short',
        queries: [
          query(ofFilter('filter_fill_ratio'), '{{filter}} fill'),
          query(ofFilter('filter_saturated_counters'), '{{filter}} saturated'),
        ],
      },
      {
        title: 'Room in layers',
        description: 'Items that the existing layers are sized for.',
        unit: 'short',
        queries: [query(ofFilter('filter_capacity_items'), '{{filter}}')],
      },
      {
        title: 'Retry window',
        description: 'How long retries are safe at least, by the origin of their ids.',
        unit: 's',
        queries: [
          query(
            ofFilter('filter_operation_record_window_seconds', '', 'filter, origin', 'min'),
            '{{filter}} {{origin}}',
          ),
        ],
      },
      {
        title: 'Sets that age',
        description:
          'Live URLs, those that expire with this epoch, and forgotten ones that are stored exactly.',
        unit: 'short',
        queries: [
          query(ofFilter('filter_live_items'), '{{filter}} live'),
          query(ofFilter('filter_expiring_items'), '{{filter}} expiring'),
          query(ofFilter('filter_hidden_items'), '{{filter}} hidden'),
        ],
      },
    ],
  },
  {
    title: 'Syncs',
    panels: [
      {
        title: 'Syncs in progress',
        description: 'Filters with a sync in progress, and how long ago it was opened.',
        unit: 's',
        queries: [
          query(ofFilter('sync_age_seconds'), '{{filter}}'),
          query(`sum(${ofFilter('filter_open_syncs')})`, 'number of syncs'),
        ],
      },
      {
        title: 'Progress of syncs',
        description: 'Items listed so far, and items that a commit would forget now.',
        unit: 'short',
        queries: [
          query(ofFilter('sync_listed_items'), '{{filter}} listed'),
          query(ofFilter('sync_unlisted_items'), '{{filter}} would be forgotten'),
        ],
      },
      {
        title: 'Ended syncs',
        description: 'Syncs that ended in the last hour, by outcome.',
        unit: 'short',
        queries: [
          query(`sum by (outcome) (increase(unseen_syncs_ended_total{${INSTANCES}}[1h]))`, '{{outcome}}'),
        ],
      },
    ],
  },
  {
    title: 'Queues',
    panels: [
      {
        title: 'URLs by state',
        description: 'Queued URLs. Forgotten ones are counted until the queue has removed them.',
        unit: 'short',
        queries: [query(ofFilter('queue_urls', '', 'filter, state'), '{{filter}} {{state}}')],
      },
      {
        title: 'Oldest URL',
        description: 'Time since the first waiting URL was discovered or came due.',
        unit: 's',
        queries: [query(ofFilter('queue_oldest_seconds'), '{{filter}}')],
      },
      {
        title: 'Dead letters',
        description: 'URLs that have used up their attempts.',
        unit: 'short',
        queries: [query(ofFilter('queue_urls', ', state="dead"'), '{{filter}}')],
      },
      {
        title: 'Hosts',
        description: 'Hosts in the queue, those that are due, and those that wait for a delay or a block.',
        unit: 'short',
        queries: [
          query(ofFilter('queue_hosts'), '{{filter}} all'),
          query(ofFilter('queue_due_hosts'), '{{filter}} due'),
          query(ofFilter('queue_blocked_hosts'), '{{filter}} blocked'),
        ],
      },
      {
        title: 'Waiting leases',
        description: 'Workers that wait for URLs.',
        unit: 'short',
        queries: [query(`sum(${ofInstance('leases_waiting')})`, 'leases')],
      },
    ],
  },
  {
    title: 'Store',
    panels: [
      {
        title: 'Slow calls',
        description: 'The time within which 99 % of the calls on the store ended, by verb.',
        unit: 's',
        queries: [query(quantile(0.99, 'unseen_store_call_duration_seconds', 'verb'), '{{verb}}')],
      },
      {
        title: 'Slow Redis scripts',
        description: 'The time within which 99 % of the scripts got their reply from Redis, by verb.',
        unit: 's',
        queries: [query(quantile(0.99, 'unseen_redis_script_duration_seconds', 'verb'), '{{verb}}')],
      },
      {
        title: 'Time in Redis scripts',
        description: 'How many scripts are waiting for Redis on average, by verb.',
        unit: 'short',
        queries: [query(rate('unseen_redis_script_duration_seconds_sum', 'verb'), '{{verb}}')],
      },
      {
        title: 'Cost of a scrape',
        description: 'How long the last read of filters from the store took, and how old the gauges are.',
        unit: 's',
        queries: [
          query(ofInstance('store_scrape_duration_seconds'), '{{instance}} read'),
          query(ofInstance('store_scrape_age_seconds'), '{{instance}} age'),
        ],
      },
    ],
  },
  {
    title: 'Load and limits',
    panels: [
      {
        title: 'Requests in flight',
        description: 'Requests, streams and probes, as a share of their limits.',
        unit: 'percentunit',
        queries: [
          query(
            `${ofInstance('in_flight_requests')} / ${ofInstance('max_in_flight_requests')}`,
            '{{instance}} {{kind}}',
          ),
        ],
      },
      {
        title: 'Bytes in flight',
        description: 'Bytes of bodies and of unread answers, as a share of their limit.',
        unit: 'percentunit',
        queries: [
          query(
            `${ofInstance('in_flight_bytes')} / ${ofInstance('max_in_flight_bytes')}`,
            '{{instance}} bodies',
          ),
          query(
            `${ofInstance('unread_answer_bytes')} / ${ofInstance('max_in_flight_bytes')}`,
            '{{instance}} answers',
          ),
        ],
      },
      {
        title: 'Refused requests',
        description: 'Requests per second that the service refused with OVERLOADED, by limit.',
        unit: 'reqps',
        queries: [query(rate('unseen_refused_requests_total', 'bound'), '{{bound}}')],
      },
      {
        title: 'Connections',
        description: 'Open connections, as a share of MAX_CONNECTIONS.',
        unit: 'percentunit',
        queries: [query(`${ofInstance('connections')} / ${ofInstance('max_connections')}`, '{{instance}}')],
      },
      {
        title: 'Event loop',
        description:
          'How late the event loop ran its timers since the last scrape, and work that waits for it.',
        unit: 's',
        queries: [
          query(`nodejs_eventloop_lag_p99_seconds{${INSTANCES}}`, '{{instance}} 99 %'),
          query(`nodejs_eventloop_lag_max_seconds{${INSTANCES}}`, '{{instance}} longest'),
        ],
      },
      {
        title: 'Waiting turns',
        description: 'Requests and commands that wait until the event loop has time to begin them.',
        unit: 'short',
        queries: [query(ofInstance('waiting_turns'), '{{instance}}')],
      },
    ],
  },
  {
    title: 'Redis protocol',
    panels: [
      {
        title: 'Commands',
        description: 'Commands per second, by command and outcome.',
        unit: 'ops',
        queries: [query(rate('unseen_resp_commands_total', 'command, outcome'), '{{command}} {{outcome}}')],
      },
      {
        title: 'Commands per batch',
        description: 'How many commands run as one batch on average. Pipelines give larger batches.',
        unit: 'short',
        queries: [
          query(
            `${rate('unseen_resp_commands_total', 'command')} / ${rate('unseen_resp_batch_duration_seconds_count', 'command')}`,
            '{{command}}',
          ),
        ],
      },
      {
        title: 'Slow batches',
        description: 'The time within which 99 % of the batches ended, by command.',
        unit: 's',
        queries: [query(quantile(0.99, 'unseen_resp_batch_duration_seconds', 'command'), '{{command}}')],
      },
      {
        title: 'Connections of the Redis protocol',
        description: 'Open connections, by instance.',
        unit: 'short',
        queries: [query(ofInstance('resp_connections'), '{{instance}}')],
      },
    ],
  },
];

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' } as const;

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

function panelJson(id: number, { title, description, unit, queries }: Panel, gridPos: Place): object {
  return {
    ...{ id, type: 'timeseries', title, description, gridPos, datasource: DATASOURCE },
    fieldConfig: {
      defaults: { unit, min: 0, custom: { fillOpacity: 8, showPoints: 'never' } },
      overrides: [],
    },
    options: {
      legend: { displayMode: 'list', placement: 'bottom' },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    targets: queries.map(({ expr, legend }, n) => ({
      ...{ refId: String.fromCharCode(65 + n), datasource: DATASOURCE, expr, legendFormat: legend },
    })),
  };
}

/** The panels below their rows' titles, in lines. */
function panelsJson(): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: ofRow } of ROWS) {
    const gridPos = { x: 0, y, w: WIDTH * PER_LINE, h: 1 };
    panels.push({ ...{ id: panels.length + 1, type: 'row', title, collapsed: false, gridPos, panels: [] } });
    y += 1;
    for (const [n, panel] of ofRow.entries()) {
      const place = {
        x: (n % PER_LINE) * WIDTH,
        y: y + Math.floor(n / PER_LINE) * HEIGHT,
        w: WIDTH,
        h: HEIGHT,
      };
      panels.push(panelJson(panels.length + 1, panel, place));
    }
    y += Math.ceil(ofRow.length / PER_LINE) * HEIGHT;
  }
  return panels;
}

/** A variable whose values are a label's. */
const labelVariable = (name: string, label: string, text: string, from: string, multi: boolean): object => ({
  ...{ name, label: text, type: 'query', datasource: DATASOURCE, refresh: 2, sort: 1 },
  ...{ definition: `label_values(${from}, ${label})`, query: `label_values(${from}, ${label})` },
  ...(multi && { multi, includeAll: true, allValue: '.*', current: { text: 'All', value: '$__all' } }),
});

/** The dashboard as Grafana imports it. */
export function dashboard(): object {
  return {
    ...{ title: 'Unseen', uid: 'unseen', tags: ['unseen'], editable: true, graphTooltip: 1 },
    description:
      'Visited sets and filters: verdicts, fill, false positives, syncs, queues, the store, and load.',
    ...{ schemaVersion: 38, version: 1, refresh: '30s', time: { from: 'now-6h', to: 'now' }, timezone: '' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        labelVariable('job', 'job', 'Job', 'unseen_build_info', false),
        labelVariable('instance', 'instance', 'Instance', 'unseen_build_info{job="$job"}', true),
        labelVariable('filter', 'filter', 'Filter', 'unseen_filter_items{job="$job"}', true),
      ],
    },
    panels: panelsJson(),
  };
}
