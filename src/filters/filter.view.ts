import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath, type ApiPropertyOptions } from '@nestjs/swagger';
import { cellCount, filterBytes, type Geometry, type Layer } from '#bloom';
import { capacityOf, fillOf, joinedErrorRate, layerErrorRate, plannedLayers } from '#store';
import type { Filter, FilterStats, FilterType, LayerStats, Semantics } from '#store';
import type { Growth } from './filter.dto.js';
import { PerHostView } from './per-host.js';
import { SyncView, syncView } from './sync.view.js';

/** A list of filters, including those whose data is lost. Name both views in ApiExtraModels. */
export function eitherOf(view: Type<object>, lost: Type<object>): ApiPropertyOptions {
  const schemas = [view, lost].map((type) => ({ $ref: getSchemaPath(type) }));
  return { type: 'array', items: { oneOf: schemas } };
}

/** A filter's geometry. */
export class GeometryView {
  @ApiProperty({ type: 'integer' }) readonly segments!: number;
  @ApiProperty({
    type: 'integer',
    description: 'Counters per page. An item has all its counters in one page',
  })
  readonly pageSize!: number;
  @ApiProperty({ type: 'integer', description: 'Counters per item' }) readonly hashes!: number;
  @ApiProperty({
    type: 'integer',
    description:
      '2: SipHash-2-4-128, for new filters. 3: the same, for sets with `perHost`. 1: murmur3, for filters created by ' +
      'version 0.1',
  })
  readonly hashScheme!: number;
  @ApiProperty({ type: 'integer', description: 'Counters in the whole filter' }) readonly counters!: number;
}

class SizedView {
  @ApiProperty({ enum: ['counting', 'standard'] }) readonly type!: FilterType;
  @ApiProperty({ type: 'integer' }) readonly capacity!: number;
  @ApiProperty() readonly errorRate!: number;
  @ApiProperty({ enum: ['auto', 'none'] }) readonly growth!: Growth;
  @ApiProperty({ type: GeometryView, description: 'Geometry of the first layer' })
  readonly geometry!: GeometryView;
  @ApiProperty({ type: 'integer', description: 'Bytes in all layers' }) readonly memoryBytes!: number;
}

/** A layer to which a filter may grow. */
export class PlannedLayerView {
  @ApiProperty({ type: 'integer', description: 'Number of items at which the next layer opens' })
  readonly capacity!: number;
  @ApiProperty({ description: 'Share of the error rate that this layer may use' })
  readonly errorRate!: number;
  @ApiProperty({ type: 'integer' }) readonly memoryBytes!: number;
}

export class PlanView extends SizedView {
  @ApiProperty({ required: false, type: 'integer', description: 'For a visited set that ages' })
  readonly maxAgeSeconds?: number;
  @ApiProperty({ required: false, type: PerHostView, description: 'For a visited set with `perHost`' })
  readonly perHost?: PerHostView;
  @ApiProperty({
    type: [PlannedLayerView],
    required: false,
    description: 'If the filter grows: the layers that it can have, including the first',
  })
  readonly plannedLayers?: PlannedLayerView[];
}

/** A filter's layer, oldest first. New items go to the last one. */
export class LayerView {
  @ApiProperty({ type: 'integer' }) readonly capacity!: number;
  @ApiProperty({ type: 'integer' }) readonly items!: number;
  @ApiProperty({ minimum: 0, maximum: 1, description: 'Share of counters that are not zero' })
  readonly fill!: number;
  @ApiProperty({ description: 'Current false-positive rate, estimated from `fill`' })
  readonly estimatedErrorRate!: number;
  @ApiProperty({ type: 'integer' }) readonly memoryBytes!: number;
}

/** The members that don't change within a generation. */
class FilterDescriptionView extends SizedView {
  @ApiProperty() readonly name!: string;
  @ApiProperty({ enum: ['set', 'multiset'] }) readonly semantics!: Semantics;
  @ApiProperty({ description: 'Changes on clear, or on delete and re-create' })
  readonly generation!: string;
  @ApiProperty({ format: 'date-time' }) readonly createdAt!: string;
}

export class FilterView extends FilterDescriptionView {
  @ApiProperty({
    type: 'integer',
    description: 'Number of adds that returned `new`, minus removals that removed the last copy of an item',
  })
  readonly items!: number;
  @ApiProperty({ minimum: 0, maximum: 1, description: 'Share of counters that are not zero' })
  readonly fill!: number;
  @ApiProperty({ description: 'Current false-positive rate, estimated from `fill`' })
  readonly estimatedErrorRate!: number;
  @ApiProperty({ type: 'integer', description: 'Counters at 15, which stay at 15' })
  readonly saturatedCounters!: number;
  @ApiProperty({ description: 'Holds more items than its layers are sized for, so it exceeds `errorRate`' })
  readonly overCapacity!: boolean;
  @ApiProperty({ type: [LayerView], description: 'One layer, or more if the filter has grown' })
  readonly layers!: LayerView[];
  @ApiProperty({ type: 'integer', description: 'Number of adds that returned `new`' })
  readonly added!: number;
  @ApiProperty({ type: 'integer', description: 'Number of adds that did not return `new`' })
  readonly duplicate!: number;
  @ApiProperty({ type: 'integer', description: 'Removals that changed the filter' })
  readonly removed!: number;
  @ApiProperty({ type: 'integer', description: 'Removals that changed nothing' }) readonly refused!: number;
  @ApiProperty({ type: SyncView, required: false, description: 'The sync in progress' })
  readonly sync?: SyncView;
}

export class LostFilterView extends FilterDescriptionView {
  @ApiProperty({
    enum: ['lost'],
    description: '`lost`: every call but clear and delete gets `STORE_DATA_LOST`',
  })
  readonly state!: 'lost';
}

@ApiExtraModels(FilterView, LostFilterView)
export class FilterListView {
  @ApiProperty(eitherOf(FilterView, LostFilterView)) readonly filters!: (FilterView | LostFilterView)[];
  @ApiProperty({ required: false, description: 'Cursor for the next page. Absent on the last page' })
  readonly next?: string;
}

export function geometryView(geometry: Geometry): GeometryView {
  const { segments, pageCells, hashes, hashScheme } = geometry;
  return { segments, pageSize: pageCells, hashes, hashScheme, counters: cellCount(geometry) };
}

/** The type of an object literal with the shape of a view. */
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

/** A filter whose data is lost, as lists show it, with everything known without the data. */
export function lostFilterView(filter: Filter): Plain<LostFilterView> {
  return { ...descriptionView(filter), state: 'lost' };
}

/** A filter as callers see it: everything except the seed. */
export function filterView(filter: Filter, stats: FilterStats): Plain<FilterView> {
  const planned = plannedLayers(filter);
  const layers = stats.layers.map((layer, number) => layerView(layer, planned[number] ?? planned[0]));
  return {
    ...descriptionView(filter),
    memoryBytes: layers.reduce((sum, layer) => sum + layer.memoryBytes, 0),
    items: stats.items,
    fill: fillOf(filter, stats),
    estimatedErrorRate: joinedErrorRate(layers.map((layer) => layer.estimatedErrorRate)),
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

function layerView(stats: LayerStats, layer: Layer): LayerView {
  const { capacity, geometry } = layer;
  return {
    capacity,
    items: stats.items,
    fill: stats.nonZeroCells / cellCount(geometry),
    estimatedErrorRate: layerErrorRate(stats, layer),
    memoryBytes: filterBytes(geometry),
  };
}
