import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath, type ApiPropertyOptions } from '@nestjs/swagger';
import {
  cellCount,
  filterBytes,
  itemsPerPageFromFill,
  PagedErrorRate,
  type Geometry,
  type Layer,
} from '#bloom';
import { capacityOf, fillOf, plannedLayers } from '#store';
import type { Filter, FilterStats, FilterType, LayerStats, Semantics } from '#store';
import type { Growth } from './filter.dto.js';
import { SyncView, syncView } from './sync.view.js';

/** A list whose entries are filters, or filters whose data is lost. Both views must be named in ApiExtraModels. */
export function eitherOf(view: Type<object>, lost: Type<object>): ApiPropertyOptions {
  const schemas = [view, lost].map((type) => ({ $ref: getSchemaPath(type) }));
  return { type: 'array', items: { oneOf: schemas } };
}

/** The shape of a filter in memory. */
export class GeometryView {
  @ApiProperty({ type: 'integer' }) readonly segments!: number;
  @ApiProperty({ type: 'integer', description: 'Counters a page; all counters of an item lie in one' })
  readonly pageSize!: number;
  @ApiProperty({ type: 'integer', description: 'Counters an item' }) readonly hashes!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Of new filters 2, SipHash-2-4-128; of those made by version 0.1 for ever 1, murmur3',
  })
  readonly hashScheme!: number;
  @ApiProperty({ type: 'integer', description: 'Counters of the whole filter' }) readonly counters!: number;
}

class SizedView {
  @ApiProperty({ enum: ['counting', 'standard'] }) readonly type!: FilterType;
  @ApiProperty({ type: 'integer' }) readonly capacity!: number;
  @ApiProperty() readonly errorRate!: number;
  @ApiProperty({ enum: ['auto', 'none'] }) readonly growth!: Growth;
  @ApiProperty({ type: GeometryView, description: 'Of the first layer' }) readonly geometry!: GeometryView;
  @ApiProperty({ type: 'integer', description: 'Of all layers there are' }) readonly memoryBytes!: number;
}

/** A layer that a filter may grow to. */
export class PlannedLayerView {
  @ApiProperty({ type: 'integer', description: 'Items after which the next one is opened' })
  readonly capacity!: number;
  @ApiProperty({ description: 'Its share of the error rate' }) readonly errorRate!: number;
  @ApiProperty({ type: 'integer' }) readonly memoryBytes!: number;
}

export class PlanView extends SizedView {
  @ApiProperty({ required: false, type: 'integer', description: 'Of a visited set that ages' })
  readonly maxAgeSeconds?: number;
  @ApiProperty({
    type: [PlannedLayerView],
    required: false,
    description: 'With growth: the layers that it may have, the first included',
  })
  readonly plannedLayers?: PlannedLayerView[];
}

/** A layer of a filter, oldest first. What is new goes to the last. */
export class LayerView {
  @ApiProperty({ type: 'integer' }) readonly capacity!: number;
  @ApiProperty({ type: 'integer' }) readonly items!: number;
  @ApiProperty({ minimum: 0, maximum: 1, description: 'Share of counters that are not zero' })
  readonly fill!: number;
  @ApiProperty({ description: 'Its false-positive rate now, estimated from fill' })
  readonly estimatedErrorRate!: number;
  @ApiProperty({ type: 'integer' }) readonly memoryBytes!: number;
}

/** The parts that do not change within a generation of a filter. */
class FilterDescriptionView extends SizedView {
  @ApiProperty() readonly name!: string;
  @ApiProperty({ enum: ['set', 'multiset'] }) readonly semantics!: Semantics;
  @ApiProperty({ description: 'Another one after clear, or after delete and create' })
  readonly generation!: string;
  @ApiProperty({ format: 'date-time' }) readonly createdAt!: string;
}

export class FilterView extends FilterDescriptionView {
  @ApiProperty({ type: 'integer', description: 'Adds answered new, less removals that left the item absent' })
  readonly items!: number;
  @ApiProperty({ minimum: 0, maximum: 1, description: 'Share of counters that are not zero' })
  readonly fill!: number;
  @ApiProperty({ description: 'False-positive rate now, estimated from fill' })
  readonly estimatedErrorRate!: number;
  @ApiProperty({ type: 'integer', description: 'Counters at 15, which never move again' })
  readonly saturatedCounters!: number;
  @ApiProperty({ description: 'Holds more items than its layers were made for: errorRate is exceeded' })
  readonly overCapacity!: boolean;
  @ApiProperty({ type: [LayerView], description: 'One; more if the filter has grown' })
  readonly layers!: LayerView[];
  @ApiProperty({ type: 'integer', description: 'Items answered new' }) readonly added!: number;
  @ApiProperty({ type: 'integer', description: 'Items answered not new' }) readonly duplicate!: number;
  @ApiProperty({ type: 'integer', description: 'Removals that took place' }) readonly removed!: number;
  @ApiProperty({ type: 'integer', description: 'Removals that changed nothing' }) readonly refused!: number;
  @ApiProperty({ type: SyncView, required: false, description: 'The one that is open or committing' })
  readonly sync?: SyncView;
}

export class LostFilterView extends FilterDescriptionView {
  @ApiProperty({ enum: ['lost'], description: 'STORE_DATA_LOST for every call but clear and delete' })
  readonly state!: 'lost';
}

@ApiExtraModels(FilterView, LostFilterView)
export class FilterListView {
  @ApiProperty(eitherOf(FilterView, LostFilterView)) readonly filters!: (FilterView | LostFilterView)[];
  @ApiProperty({ required: false, description: 'Cursor of the next page; absent on the last' })
  readonly next?: string;
}

export function geometryView(geometry: Geometry): GeometryView {
  const { segments, pageCells, hashes, hashScheme } = geometry;
  return { segments, pageSize: pageCells, hashes, hashScheme, counters: cellCount(geometry) };
}

/** The type of an object literal with a view's shape. */
type Plain<T> = { readonly [K in keyof T]: T[K] };

export function growthOf(layers: readonly Layer[] | undefined): Growth {
  return layers === undefined ? 'none' : 'auto';
}

export function plannedLayerView({ capacity, errorRate, geometry }: Layer): PlannedLayerView {
  return { capacity, errorRate, memoryBytes: filterBytes(geometry) };
}

function descriptionView(filter: Filter): Plain<FilterDescriptionView> {
  const { name, type, semantics, capacity, errorRate, generation, geometry } = filter;
  return {
    name,
    type,
    semantics,
    capacity,
    errorRate,
    growth: growthOf(filter.layers),
    generation,
    geometry: geometryView(geometry),
    memoryBytes: filterBytes(geometry),
    createdAt: new Date(filter.createdAt).toISOString(),
  };
}

/** A filter whose data is lost, as lists show it: everything that is known without the data. */
export function lostFilterView(filter: Filter): Plain<LostFilterView> {
  return { ...descriptionView(filter), state: 'lost' };
}

/** A filter as callers see it: everything but the seed. */
export function filterView(filter: Filter, stats: FilterStats): Plain<FilterView> {
  const planned = plannedLayers(filter);
  const layers = stats.layers.map((layer, number) => layerView(layer, planned[number] ?? planned[0]));
  const absent = layers.reduce((share, layer) => share * (1 - layer.estimatedErrorRate), 1);
  return {
    ...descriptionView(filter),
    memoryBytes: layers.reduce((sum, layer) => sum + layer.memoryBytes, 0),
    items: stats.items,
    fill: fillOf(filter, stats),
    // With one layer it is the layer's own, to the last digit.
    estimatedErrorRate: layers.length === 1 ? (layers[0] as LayerView).estimatedErrorRate : 1 - absent,
    saturatedCounters: stats.saturatedCells,
    overCapacity: stats.items > capacityOf(filter, stats),
    layers,
    added: stats.added,
    duplicate: stats.duplicate,
    removed: stats.removed,
    refused: stats.refused,
    ...(stats.sync && { sync: syncView(stats.sync) }),
  };
}

function layerView({ items, nonZeroCells }: LayerStats, { capacity, geometry }: Layer): LayerView {
  const fill = nonZeroCells / cellCount(geometry);
  const estimatedErrorRate = rateAtFill(geometry, fill);
  return { capacity, items, fill, estimatedErrorRate, memoryBytes: filterBytes(geometry) };
}

function rateAtFill({ pageCells, hashes }: Geometry, fill: number): number {
  return PagedErrorRate.of(pageCells, hashes).at(itemsPerPageFromFill(fill, pageCells, hashes));
}
