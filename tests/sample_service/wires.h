// What svc-sample is made of.
#pragma once

#include "runtime/topology.h"
#include "services/kit/wires.h"

namespace ron::sample {

inline constexpr runtime::ChannelDecl kWork = kit::work_channel(16, "worker");
inline constexpr runtime::ChannelDecl kEvents =
    kit::events_channel(64, "worker", "auditor, listener");
inline constexpr auto kChannels = kit::all_channels(kWork, kEvents);

inline constexpr runtime::TaskDecl kWorkerTask{"worker", "1", runtime::Importance::Critical,
                                               "says what it is told"};
inline constexpr auto kTasks = kit::all_tasks(kWorkerTask);

inline constexpr runtime::Wires kWires{"svc-sample", kTasks, kChannels, {}};

}  // namespace ron::sample
