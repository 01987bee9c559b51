// RUN: chimera-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: !ascend.ptr<ub, f16>, %b: !ascend.ptr<gm, f16>, %n: index) {
  // expected-error @below {{'ascend.copy' op destination must be in l1, got ub}}
  ascend.copy copy_gm_to_cbuf %a, %b bursts %n of %n every %n, %n : !ascend.ptr<ub, f16>, !ascend.ptr<gm, f16>
  return
}

// -----

func.func @f(%a: !ascend.ptr<l1, f32>, %b: !ascend.ptr<gm, f16>, %n: index) {
  // expected-error @below {{'ascend.copy' op cannot turn 'f16' into 'f32'}}
  ascend.copy copy_gm_to_cbuf %a, %b bursts %n of %n every %n, %n : !ascend.ptr<l1, f32>, !ascend.ptr<gm, f16>
  return
}

// -----

func.func @relu_of_an_operand(%a: !ascend.ptr<l1, f16>, %b: !ascend.ptr<gm, f16>, %n: index) {
  // expected-error @below {{'ascend.copy' op has no relu; sums have, on their way from l0c to l1 or gm}}
  ascend.copy copy_gm_to_cbuf %a, %b bursts %n of %n every %n, %n relu : !ascend.ptr<l1, f16>, !ascend.ptr<gm, f16>
  return
}

// -----

func.func @f(%a: !ascend.ptr<l0c, f16>, %b: !ascend.ptr<l1, f16>, %n: index) {
  // expected-error @below {{'ascend.load' op destination must be in l0a or l0b, got l0c}}
  ascend.load %a, %b start %n repeat %n stride %n : !ascend.ptr<l0c, f16>, !ascend.ptr<l1, f16>
  return
}

// -----

func.func @f(%c: !ascend.ptr<l0c, f32>, %a: !ascend.ptr<l0b, f16>, %b: !ascend.ptr<l0b, f16>, %n: index, %i: i1) {
  // expected-error @below {{'ascend.mad' op a must be in l0a, got l0b}}
  ascend.mad %c, %a, %b m %n k %n n %n init %i : !ascend.ptr<l0c, f32>, !ascend.ptr<l0b, f16>, !ascend.ptr<l0b, f16>
  return
}

// -----

func.func @f(%c: !ascend.ptr<l0c, f32>, %a: !ascend.ptr<l0a, si8>, %b: !ascend.ptr<l0b, si8>, %n: index, %i: i1) {
  // expected-error @below {{'ascend.mad' op cannot add products of 'si8' and 'si8' up in 'f32'}}
  ascend.mad %c, %a, %b m %n k %n n %n init %i : !ascend.ptr<l0c, f32>, !ascend.ptr<l0a, si8>, !ascend.ptr<l0b, si8>
  return
}

// -----

func.func @f(%a: !ascend.ptr<l0a, si8>, %b: !ascend.ptr<l1, si8>, %n: index) {
  // expected-error @below {{'ascend.load' op transposes elements of 16 bits, got 'si8'}}
  ascend.load %a, %b start %n repeat %n stride %n transpose : !ascend.ptr<l0a, si8>, !ascend.ptr<l1, si8>
  return
}

// -----

func.func @f(%a: !ascend.ptr<l0a, f16>, %b: !ascend.ptr<l1, f16>, %n: index) {
  // expected-error @below {{'ascend.load_transposed' op loads si8, got 'f16' to 'f16'}}
  ascend.load_transposed %a, %b start %n repeat %n stride %n every %n, %n : !ascend.ptr<l0a, f16>, !ascend.ptr<l1, f16>
  return
}

// -----

func.func @f(%a: !ascend.ptr<ub, f32>, %n: index) {
  // expected-error @below {{'ascend.vector' op takes 2 sources, got 1}}
  ascend.vector vadd %a sources %a repeat %n blocks [1, 1] repeats [8, 8] : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>
  return
}

// -----

func.func @f(%a: !ascend.ptr<ub, f32>, %n: index) {
  // expected-error @below {{'ascend.vector' op needs a scalar}}
  ascend.vector vadds %a sources %a repeat %n blocks [1, 1] repeats [8, 8] : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>
  return
}

// -----

func.func @f(%a: !ascend.ptr<ub, f32>, %n: index) {
  // expected-error @below {{'ascend.vector' op needs distances for the destination and 1 sources, got 3}}
  ascend.vector vexp %a sources %a repeat %n blocks [1, 1, 1] repeats [8, 8] : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>
  return
}

// -----

func.func @f(%a: !ascend.ptr<ub, f32>, %b: !ascend.ptr<l1, f32>, %n: index) {
  // expected-error @below {{'ascend.reduce' op source must be in ub, got l1}}
  ascend.reduce vcgmax %a, %b repeat %n blocks 1 repeats 8 : !ascend.ptr<ub, f32>, !ascend.ptr<l1, f32>
  return
}

// -----

func.func @f(%a: !ascend.ptr<l1, f32>, %b: !ascend.ptr<ub, f32>, %n: index) {
  // expected-error @below {{'ascend.broadcast' op destination must be in ub, got l1}}
  ascend.broadcast %a, %b repeat %n : !ascend.ptr<l1, f32>, !ascend.ptr<ub, f32>
  return
}

// -----

func.func @transpose(%a: !ascend.ptr<ub, f16>, %n: index) {
  // expected-error @below {{needs distances for the destination and the source, got 1}}
  ascend.transpose %a, %a repeat %n rows [1] repeats [1, 16] : !ascend.ptr<ub, f16>, !ascend.ptr<ub, f16>
  return
}

// -----

func.func @f(%a: !ascend.ptr<ub, f32>, %b: !ascend.ptr<l0c, f32>, %m: !ascend.ptr<ub, i8>, %n: index) {
  // expected-error @below {{'ascend.compare' op source must be in ub, got l0c}}
  ascend.compare vcmpv_lt %m, %a, %b repeat %n : !ascend.ptr<ub, i8>, !ascend.ptr<ub, f32>, !ascend.ptr<l0c, f32>
  return
}

// -----

func.func @f(%a: !ascend.ptr<ub, f32>, %m: !ascend.ptr<l1, i8>, %n: index) {
  // expected-error @below {{'ascend.select' op source must be in ub, got l1}}
  ascend.select %a, %a, %a where %m repeat %n : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<l1, i8>
  return
}

// -----

// What the pages of a 910 do not have.

func.func @f(%a: !ascend.ptr<ub, f32>, %n: index) attributes {ascend.arch = "ascend910"} {
  // expected-error @below {{'ascend.reduce' op the ascend910 has no vcgmax for f32}}
  ascend.reduce vcgmax %a, %a repeat %n blocks 1 repeats 8 : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>
  return
}

// -----

func.func @f(%a: !ascend.ptr<ub, f32>, %m: !ascend.ptr<ub, i8>, %n: index) attributes {ascend.arch = "ascend910"} {
  // expected-error @below {{'ascend.select' op the ascend910 selects by the same bits in every repeat}}
  ascend.select %a, %a, %a where %m repeat %n : !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, f32>, !ascend.ptr<ub, i8>
  return
}

// -----

func.func @f() attributes {ascend.arch = "ascend910"} {
  %event = arith.constant 4 : index
  // expected-error @below {{'ascend.set_flag' op the ascend910 has 4 events between two pipes, not number 4}}
  ascend.set_flag mte2 to mte1, %event
  return
}

// -----

func.func @f(%a: !ascend.ptr<ub, f32>, %n: index) attributes {ascend.arch = "ascend910"} {
  %lowest = arith.constant 0xFF800000 : f32
  // expected-error @below {{'ascend.vector' op the ascend910 has no infinities}}
  ascend.vector vector_dup %a scalar %lowest repeat %n blocks [1] repeats [8] : !ascend.ptr<ub, f32>
  return
}

// -----

func.func @f(%a: !ascend.ptr<l1, f16>, %b: !ascend.ptr<ub, f16>, %n: index) attributes {ascend.arch = "ascend910b"} {
  // expected-error @below {{'ascend.copy' op the ascend910b has no copy_ubuf_to_cbuf for f16}}
  ascend.copy copy_ubuf_to_cbuf %a, %b bursts %n of %n every %n, %n : !ascend.ptr<l1, f16>, !ascend.ptr<ub, f16>
  return
}

// -----

// expected-error @below {{'func.func' op 'ascend.arch' must name an architecture, got "ascend950"}}
func.func @f() attributes {ascend.arch = "ascend950"} {
  return
}

// -----

func.func @f() {
  // expected-error @below {{a tile has at least one row and one column, got 0 and 64}}
  %0 = arith.constant {ascend.tiling = #ascend.tiling<rows = 0, columns = 64>} 0 : index
  return
}

// -----

func.func @f() {
  // expected-error @below {{'arith.constant' op 'ascend.tiling' must be '#ascend.tiling', got 8}}
  %0 = arith.constant {ascend.tiling = 8 : i64} 0 : index
  return
}

// -----

func.func @f(%a: !ascend.ptr<ub, f16>, %n: index) {
  // expected-error @below {{'ascend.clear' op destination must be in l1, got ub}}
  ascend.clear %a repeat %n : !ascend.ptr<ub, f16>
  return
}

// -----

func.func @f(%image: tensor<9x9x16xf16>) {
  // expected-error @below {{'ascend.image' op must be indexed by sums in which each dimension occurs once}}
  %0 = ascend.image %image at affine_map<(h, r, w, c) -> (h + r - 1, h, c)> : tensor<9x9x16xf16> to tensor<9x3x9x16xf16>
  return
}

// -----

func.func @f(%image: tensor<9x9x16xf16>) {
  // expected-error @below {{'ascend.image' op must have a map from the 4 dimensions of its result to the 3 of its source}}
  %0 = ascend.image %image at affine_map<(h, r, w) -> (h + r - 1, w, 0)> : tensor<9x9x16xf16> to tensor<9x3x9x16xf16>
  return
}

// -----

func.func @f(%image: tensor<9x9x16xf16>) {
  // expected-error @below {{'ascend.image' op shows 'tensor<9x9x16xf16>' as 'tensor<9x3x9x16xf32>'}}
  %0 = ascend.image %image at affine_map<(h, r, w, c) -> (h + r - 1, w, c)> : tensor<9x9x16xf16> to tensor<9x3x9x16xf32>
  return
}

// -----

// expected-error @below {{'ascend.core' must name a kind of core, got "scalar"}}
func.func @f() attributes {ascend.core = "scalar"} {
  return
}

// -----

func.func @f(%a: !ascend.ptr<l1, f16>, %n: index) attributes {ascend.core = "vector"} {
  // expected-error @below {{'ascend.clear' op is no instruction of a vector core}}
  ascend.clear %a repeat %n : !ascend.ptr<l1, f16>
  return
}

// -----

func.func @f(%n: index) attributes {ascend.core = "cube"} {
  // expected-error @below {{'ascend.wait_cross_flag' op is no instruction of a cube core}}
  ascend.wait_cross_flag vector, %n
  return
}

// -----

func.func @f(%n: index) attributes {ascend.arch = "ascend910"} {
  // expected-error @below {{'ascend.wait_cross_flag' op the ascend910 has its units in one core}}
  ascend.wait_cross_flag vector, %n
  return
}
