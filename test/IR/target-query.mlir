// A target answers DLTI queries from any operation below it.
//
// RUN: chimera-opt %s --transform-interpreter --verify-diagnostics

module attributes {
  transform.with_named_sequence,
  chimera.target = #chimera.target<"small", cores = 2,
    unit = <bits = 256, registers = 16, fma = 2, load = 2, store = 1,
            latency = 4, clock = 3000000000>,
    levels = [
      <"L2", capacity = 262144, usable = 80, core_bandwidth = 5,
       chip_bandwidth = 10, sharers = 2, line = 64, ways = 16>,
      <"L1", capacity = 32768, usable = 80, core_bandwidth = 9,
       chip_bandwidth = 18, sharers = 1, line = 64, ways = 8, buffers = 2,
       burst = 32, most_buffers = 3, latency = 40>],
    matrix = [
      <type = f16, rows = 16, columns = 8, depth = 16, macs = 1024,
       accumulators = 512, lhs = 512, rhs = 256, load = 128, store = 128,
       clock = 5>,
      <type = i8, rows = 16, columns = 8, depth = 32, macs = 2048,
       accumulators = 512, lhs = 512, rhs = 256, load = 128, store = 128,
       clock = 5>],
    launch = 2000>
} {
  // expected-remark @below {{cores 2 : i64}}
  // expected-remark @below {{capacity 262144 : i64}}
  // expected-remark @below {{line 64 : i64}}
  // expected-remark @below {{sharers 2 : i64}}
  // expected-remark @below {{ways 8 : i64}}
  // expected-remark @below {{buffers 2 : i64}}
  // expected-remark @below {{burst 32 : i64}}
  // expected-remark @below {{most 3 : i64}}
  // expected-remark @below {{latency 40 : i64}}
  // expected-remark @below {{launch 2000 : i64}}
  // expected-remark @below {{macs 2048 : i64}}
  // expected-remark @below {{depth 16 : i64}}
  func.func private @payload()

  transform.named_sequence @__transform_main(
      %module: !transform.any_op {transform.readonly}) {
    %func = transform.structured.match ops{["func.func"]} in %module
        : (!transform.any_op) -> !transform.any_op
    %cores = transform.dlti.query ["cores"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %cores, "cores" at %func
        : !transform.any_param, !transform.any_op
    %capacity = transform.dlti.query ["L2", "capacity"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %capacity, "capacity" at %func
        : !transform.any_param, !transform.any_op
    %line = transform.dlti.query ["L2", "line"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %line, "line" at %func
        : !transform.any_param, !transform.any_op
    %sharers = transform.dlti.query ["L2", "sharers"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %sharers, "sharers" at %func
        : !transform.any_param, !transform.any_op
    %ways = transform.dlti.query ["L1", "ways"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %ways, "ways" at %func
        : !transform.any_param, !transform.any_op
    %buffers = transform.dlti.query ["L1", "buffers"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %buffers, "buffers" at %func
        : !transform.any_param, !transform.any_op
    %burst = transform.dlti.query ["L1", "burst"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %burst, "burst" at %func
        : !transform.any_param, !transform.any_op
    %most = transform.dlti.query ["L1", "most_buffers"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %most, "most" at %func
        : !transform.any_param, !transform.any_op
    %latency = transform.dlti.query ["L1", "latency"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %latency, "latency" at %func
        : !transform.any_param, !transform.any_op
    %launch = transform.dlti.query ["launch"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %launch, "launch" at %func
        : !transform.any_param, !transform.any_op
    %macs = transform.dlti.query ["matrix", i8, "macs"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %macs, "macs" at %func
        : !transform.any_param, !transform.any_op
    %depth = transform.dlti.query ["matrix", f16, "depth"] at %func
        : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %depth, "depth" at %func
        : !transform.any_param, !transform.any_op
    transform.yield
  }
}
