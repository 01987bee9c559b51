//===- kernel_operator.h - Declarations of Ascend C -------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the public pages of the Ascend C basic API say of the functions that
// chimera_npu_ascendc.h calls: their names, template and other parameters. It
// is written from these pages, and declares nothing that they do not; the
// vendor's header is another. No function has a body: programs are compiled,
// not linked.
//
//===----------------------------------------------------------------------===//

#ifndef KERNEL_OPERATOR_H
#define KERNEL_OPERATOR_H

#include <cstdint>

#define __aicore__
#define __global__
#define __gm__
#define GM_ADDR __gm__ uint8_t *
// SetKernelType: which cores run a kernel.
#define KERNEL_TASK_TYPE_DEFAULT(TYPE)                                         \
  static_assert(AscendC::TYPE == AscendC::KERNEL_TYPE_MIX_AIC_1_2, "")

using half = _Float16;

enum pipe_t : uint8_t {
  PIPE_S,
  PIPE_V,
  PIPE_M,
  PIPE_MTE1,
  PIPE_MTE2,
  PIPE_MTE3,
  PIPE_FIX,
  PIPE_ALL
};
enum class QuantMode_t { NoQuant, F322F16 };

namespace AscendC {

enum class TPosition { A1, A2, B1, B2, CO1, VECCALC };
enum class HardEvent {
  MTE1_MTE2,
  MTE2_MTE1,
  MTE1_M,
  M_MTE1,
  M_V,
  V_M,
  MTE2_V,
  V_MTE2,
  V_MTE3,
  MTE3_V,
  MTE3_MTE1,
  MTE1_MTE3,
  M_FIX,
  FIX_M
};
enum class MaskMode { NORMAL, COUNTER };
enum class RoundMode { CAST_NONE, CAST_RINT, CAST_TRUNC };
enum class CMPMODE { LT, LE, GT, GE, EQ, NE };
enum class SELMODE {
  VSEL_CMPMASK_SPR,
  VSEL_TENSOR_SCALAR_MODE,
  VSEL_TENSOR_TENSOR_MODE
};
enum class BlockMode { BLOCK_MODE_NORMAL, BLOCK_MODE_MATRIX };
struct FixpipeConfig {
  bool isRows;
};
inline constexpr FixpipeConfig CFG_ROW_MAJOR = {true}, CFG_NZ = {false};
inline constexpr uint64_t MASK_PLACEHOLDER = 0;

template <class T>
struct LocalTensor {
  LocalTensor();
  LocalTensor(TPosition, uint32_t, uint32_t);
};
template <class T>
struct GlobalTensor {
  void SetGlobalBuffer(__gm__ T *buffer);
};

// DataCopy (0101), Nd2Nz (00127), Fixpipe (0251).
struct DataCopyParams {
  uint16_t blockCount, blockLen, srcGap, dstGap;
};
struct DataCopyEnhancedParams {
  BlockMode blockMode;
};
struct Nd2NzParams {
  uint16_t ndNum, nValue, dValue, srcNdMatrixStride, srcDValue, dstNzC0Stride,
      dstNzNStride, dstNzMatrixStride;
};
struct FixpipeParamsV220 {
  uint16_t nSize, mSize, srcStride;
  uint32_t dstStride;
  bool reluEn;
  QuantMode_t quantPre;
};
template <class T>
void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
              const DataCopyParams &params);
template <class T>
void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src,
              const DataCopyParams &params);
template <class T>
void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src,
              const DataCopyParams &params);
template <class T>
void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
              const Nd2NzParams &params);
template <class T, class U>
void DataCopy(const LocalTensor<T> &dst, const LocalTensor<U> &src,
              const DataCopyParams &params,
              const DataCopyEnhancedParams &enhanced);
template <class T, class U, const FixpipeConfig &config>
void Fixpipe(const GlobalTensor<T> &dst, const LocalTensor<U> &src,
             const FixpipeParamsV220 &params);
template <class T, class U, const FixpipeConfig &config>
void Fixpipe(const LocalTensor<T> &dst, const LocalTensor<U> &src,
             const FixpipeParamsV220 &params);

// DataCopyPad (0265): gaps from the end of a burst, in bytes in GM and blocks
// of 32 bytes elsewhere.
struct DataCopyExtParams {
  uint16_t blockCount;
  uint32_t blockLen, srcStride, dstStride, rsv;
};
template <class T>
struct DataCopyPadExtParams {
  bool isPad;
  uint8_t leftPadding, rightPadding;
  T paddingValue;
};
template <class T>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src,
                 const DataCopyExtParams &params,
                 const DataCopyPadExtParams<T> &padParams);
template <class T>
void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src,
                 const DataCopyExtParams &params);

// InitConstValue (0237).
template <class T>
struct InitConstValueParams {
  uint16_t repeatTimes, blockNum, dstGap;
  T initValue;
};
template <class T>
void InitConstValue(const LocalTensor<T> &dst,
                    const InitConstValueParams<T> &params);

// LoadData (0238), LoadDataWithTranspose (0239), Mmad (0249).
struct LoadData2DParams {
  uint16_t startIndex;
  uint8_t repeatTimes;
  uint16_t srcStride;
  uint8_t sid;
  uint16_t dstGap;
  bool ifTranspose;
  uint8_t addrMode;
};
struct LoadData2dTransposeParams {
  uint16_t startIndex;
  uint8_t repeatTimes;
  uint16_t srcStride, dstGap, dstFracGap;
  uint8_t addrMode;
};
struct MmadParams {
  uint16_t m, n, k;
  bool cmatrixInitVal;
};
template <class T>
void LoadData(const LocalTensor<T> &dst, const LocalTensor<T> &src,
              const LoadData2DParams &params);
template <class T>
void LoadDataWithTranspose(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                           const LoadData2dTransposeParams &params);
template <class T, class U, class S>
void Mmad(const LocalTensor<T> &dst, const LocalTensor<U> &fm,
          const LocalTensor<S> &filter, const MmadParams &params);

// Vectors: pages 0025 to 0097.
struct BinaryRepeatParams {
  uint8_t dstBlkStride, src0BlkStride, src1BlkStride, dstRepStride,
      src0RepStride, src1RepStride;
};
struct UnaryRepeatParams {
  uint16_t dstBlkStride, srcBlkStride;
  uint8_t dstRepStride, srcRepStride;
};
struct BrcbRepeatParams {
  BrcbRepeatParams(uint16_t dstBlkStride, uint16_t dstRepStride);
};
struct TransDataTo5HDParams {
  TransDataTo5HDParams(bool dstHighHalf, bool srcHighHalf, uint8_t repeatTimes,
                       uint16_t dstRepStride, uint16_t srcRepStride);
};
#define BINARY(NAME)                                                           \
  template <class T, bool isSetMask = true>                                    \
  void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0,             \
            const LocalTensor<T> &src1, uint64_t mask, uint8_t repeatTime,     \
            const BinaryRepeatParams &params);
BINARY(Add)
BINARY(Sub)
BINARY(Mul)
BINARY(Div)
BINARY(Max)
BINARY(Min)
#define UNARY(NAME)                                                            \
  template <class T, bool isSetMask = true>                                    \
  void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src,              \
            uint64_t mask, uint8_t repeatTime,                                 \
            const UnaryRepeatParams &params);
UNARY(Exp)
UNARY(Ln)
UNARY(Reciprocal)
UNARY(Sqrt)
UNARY(Abs)
UNARY(Relu)
#define SCALAR(NAME)                                                           \
  template <class T, bool isSetMask = true>                                    \
  void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src,              \
            const T &scalar, uint64_t mask, uint8_t repeatTime,                \
            const UnaryRepeatParams &params);
SCALAR(Adds)
SCALAR(Muls)
SCALAR(Maxs)
SCALAR(Mins)
#define REDUCE(NAME)                                                           \
  template <class T, bool isSetMask = true>                                    \
  void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src,              \
            int32_t repeatTime, int32_t mask, int32_t dstRepStride,            \
            int32_t srcBlkStride, int32_t srcRepStride);
REDUCE(BlockReduceMax)
REDUCE(BlockReduceSum)
// WholeReduceSum (0081): the mask comes first here.
template <class T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                    int32_t mask, int32_t repeatTime, int32_t dstRepStride,
                    int32_t srcBlkStride, int32_t srcRepStride);
template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, RoundMode mode,
          uint64_t mask, uint8_t repeatTime, const UnaryRepeatParams &params);
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T> &dst, const T &scalar, uint64_t mask,
               uint8_t repeatTime, uint16_t dstBlkStride, uint8_t dstRepStride);
template <class T>
void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src,
          uint8_t repeatTime, const BrcbRepeatParams &params);
template <class T>
void TransDataTo5HD(const LocalTensor<T> (&dstLocalList)[16],
                    const LocalTensor<T> (&srcLocalList)[16],
                    const TransDataTo5HDParams &params);
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0,
             const LocalTensor<T> &src1, CMPMODE mode, uint64_t mask,
             uint8_t repeatTime, const BinaryRepeatParams &params);
template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask,
            const LocalTensor<T> &src0, const LocalTensor<T> &src1,
            SELMODE mode, uint64_t mask, uint8_t repeatTime,
            const BinaryRepeatParams &params);
template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(uint64_t maskHigh, uint64_t maskLow);

// Order: SetFlag and WaitFlag (0270), PipeBarrier (0271).
template <HardEvent event>
void SetFlag(int32_t eventId);
template <HardEvent event>
void WaitFlag(int32_t eventId);
template <pipe_t pipe>
void PipeBarrier();
int64_t GetBlockIdx();
int64_t GetBlockNum();

// Cores of a block: CrossCoreSetFlag (0273), CrossCoreWaitFlag (0274),
// GetTaskRatio (0188), GetSubBlockIdx.
template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId);
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId);
int64_t GetTaskRatio();
int64_t GetSubBlockIdx();
enum { AIC, AIV };
enum { KERNEL_TYPE_MIX_AIC_1_2 };

} // namespace AscendC

extern const int g_coreType;

#endif // KERNEL_OPERATOR_H
